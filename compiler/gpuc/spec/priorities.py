"""Priorities of workloads and of pods."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from gpuc.spec.base import Name, Shorthand


class Priority(Shorthand):
    """A priority. In the spec, a number alone sets only the value of the priority."""

    in_messages: ClassVar[str] = "{value: 1000, pods: true, tenants: [research]}"
    short_for: ClassVar[str] = "value"

    value: Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]
    """The number. Kueue admits the highest number first."""

    pods: bool = False
    """Whether pods can have the priority too, as a PriorityClass with the same name. The scheduler then starts pods
    with a higher number first."""

    preemption: Literal["never", "lower"] = "never"
    """Whether waiting pods with the PriorityClass evict pods with a lower number, also those of other tenants and those
    that Kueue admitted. No effect without `pods`."""

    tenants: Annotated[list[Name], Field(min_length=1)] | None = None
    """The tenants that may use the priority. Default: all tenants. The policies `priority-classes` and `queue-required`
    refuse it to others."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return {"value": value} if isinstance(value, int) and not isinstance(value, bool) else value
