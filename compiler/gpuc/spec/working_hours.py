"""Working hours of the users of a cluster, in their time zone."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpuc.catalog import load
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.spec.base import SpecModel

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def _known_zone(name: str) -> str:
    zones = load().time_zones
    if name not in zones:
        suggestion = did_you_mean(name, zones)
        raise ValueError(f'"{name}" is not a time zone; expected a name such as America/New_York{suggestion}')
    return name


TimeZone = Annotated[str, Field(pattern=r"^[A-Za-z0-9_+/-]{1,40}$"), AfterValidator(_known_zone)]
"""A time zone of the IANA database, for example America/New_York."""

TimeOfDay = Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
"""A time of day in 24 hours, in quotes, for example "08:00"."""


class WorkingHours(SpecModel):
    """The hours in which Karpenter does not replace GPU nodes with running pods, for example for a new AMI."""

    time_zone: TimeZone
    """The time zone of the hours, for example America/New_York.

    Schedules of Karpenter are in UTC and do not follow daylight saving time. gpuc writes hours in UTC that contain the
    working hours in summer and in winter.
    """

    start: TimeOfDay
    """The start of the working hours in the time zone, for example "08:00"."""

    end: TimeOfDay
    """The end of the working hours in the time zone, for example "18:00"."""

    days: Annotated[list[Day], Field(min_length=1)] = ["mon", "tue", "wed", "thu", "fri"]
    """The days of the week. Default: Monday to Friday."""

    @model_validator(mode="after")
    def _starts_before_end(self) -> Self:
        if self.start >= self.end:
            raise ValueError(f"end is {self.end}; expected a time after start, {self.start}")
        return self

    @property
    def start_minute(self) -> int:
        """The start in minutes after midnight."""
        return _minutes(self.start)

    @property
    def end_minute(self) -> int:
        """The end in minutes after midnight."""
        return _minutes(self.end)


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)
