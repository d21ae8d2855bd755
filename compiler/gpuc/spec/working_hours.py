"""The working hours of the users of a cluster, in the time zone of the users."""

import re
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpuc.catalog import load
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.spec.base import SpecModel
from gpuc.spec.form import Form

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


def _known_zone(name: str) -> str:
    zones = load().time_zones
    if name not in zones:
        suggestion = did_you_mean(name, zones)
        raise ValueError(f'"{name}" is not a time zone; expected a name such as America/New_York{suggestion}')
    return name


TimeZone = Annotated[
    str, Form(r"^[A-Za-z0-9_+/-]{1,40}$", "a time zone such as America/New_York"), AfterValidator(_known_zone)
]
"""A time zone of the IANA database, for example America/New_York."""


def _two_digits(text: str) -> str:
    return re.sub(r"(?<!\d)(\d:)", r"0\1", text.replace(" ", ""))


_TIME = r"([01]\d|2[0-3]):[0-5]\d"
Hours = Annotated[str, Form(rf"^{_TIME}-{_TIME}$", "two times such as 08:00-18:00", _two_digits)]
"""The first and the last time of each day, for example 08:00-18:00."""


class WorkingHours(SpecModel):
    """The hours in which the autoscaler does not replace GPU nodes with running pods, for example for a new image."""

    in_messages: ClassVar[str] = "{timeZone: America/New_York, hours: 08:00-18:00}"

    time_zone: TimeZone
    """The time zone of the hours, for example America/New_York.

    Schedules of the autoscaler are in UTC and do not follow daylight saving time. gpuc writes hours in UTC that contain
    the working hours in summer and in winter.
    """

    hours: Hours
    """The start and the end of the hours in the time zone, for example 08:00-18:00."""

    days: Annotated[list[Day], Field(min_length=1)] = ["mon", "tue", "wed", "thu", "fri"]
    """The days of the week. Default: Monday to Friday."""

    @model_validator(mode="after")
    def _starts_before_end(self) -> Self:
        if self.start_minute >= self.end_minute:
            raise ValueError(f"hours are {self.hours}; expected a start before the end on the same day")
        return self

    @property
    def start_minute(self) -> int:
        """The start of the working hours, in minutes after midnight."""
        return _minutes(self.hours.split("-")[0])

    @property
    def end_minute(self) -> int:
        """The end of the working hours, in minutes after midnight."""
        return _minutes(self.hours.split("-")[1])


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)
