"""The base of all spec models and the scalars that they share."""

from __future__ import annotations

import os
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError

from gpuc.kubernetes.duration import parse_duration
from gpuc.kubernetes.quantity import format_quantity, parse_quantity

# Pydantic would look through every installed distribution for plugins, of which a compile wants none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class SpecModel(BaseModel):
    """Something that a user asks for; unknown keys are refused and nothing changes after parsing."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=to_camel,
        protected_namespaces=(),
    )


class Shorthand(SpecModel):
    """A map that may also be written as one word, which then stands for one of its keys."""

    short_for: ClassVar[str]
    """The key that the word stands for."""

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, value: Any) -> Any:
        return {cls.short_for: value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        whole = handler.resolve_ref_schema(handler(core))
        word = dict(whole.get("properties", {}).get(cls.short_for, {"type": "string"}))
        return {"anyOf": [word, whole], "description": cls.__doc__ or ""}


NO_UNIT = "no_unit"
"""Type of the error about a number where a number with a unit belongs."""
_GIB = 2**30
_MOST_GIB = 65_536
"""The largest volume of EBS."""


def _seconds(value: Any) -> Any:
    if _is_number(value):
        digits = str(value).strip()
        choices = f"{digits}h, {digits}m or {digits}s" if digits.isdecimal() else "as in 24h"
        raise PydanticCustomError(NO_UNIT, "{takes}", {"takes": f"a duration with its unit: {choices}", "fix": ""})
    return parse_duration(value) if isinstance(value, str) else value


def _bytes(value: Any) -> Any:
    if _is_number(value):
        fix = _with_unit(value)
        raise PydanticCustomError(
            NO_UNIT, "{takes}", {"takes": "a size with its unit, as in 200Gi", "fix": fix and f"write {fix}"}
        )
    return int(parse_quantity(value)) if isinstance(value, str) else value


def _is_number(value: Any) -> bool:
    """Whether a value is a number without a unit, in quotes or not."""
    if isinstance(value, str):
        return value.strip().replace(".", "", 1).isdigit()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with_unit(value: Any) -> str:
    """What a number without a unit can only mean as the size of a volume; empty where it may mean several things."""
    try:
        size = int(value)
    except ValueError:
        return ""
    if size >= _GIB:
        return format_quantity(size, "binary") if size % _GIB == 0 else ""
    return f"{size}Gi" if 1 <= size <= _MOST_GIB else ""


Seconds = Annotated[
    int,
    BeforeValidator(_seconds),
    Field(gt=0),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+[hms])+$"}),
]
"""A duration such as 72h or 1h30m, in seconds."""

Bytes = Annotated[
    int, BeforeValidator(_bytes), Field(gt=0),
    WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)$"}),
]  # fmt: skip
"""A quantity such as 200Gi, in bytes."""

Name = Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]*[a-z0-9])?$", max_length=40)]
"""A name that becomes part of object names and label values: lower-case letters, digits and hyphens."""

Words = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Free text on one line."""

LabelValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", max_length=63)]
"""A value that becomes a Kubernetes label."""

Count = Annotated[int, Field(ge=1, le=100_000)]
"""A whole number of things, at least one."""

Accept = dict[Annotated[str, Field(pattern=r"^[A-Z]{2,4}\d{3}$")], Words]
"""Reasons by finding id: findings of that id here and below are accepted."""
