"""Cron schedules as the CronJob controller reads them. Also converts weekly hours in a time zone into a UTC schedule.

Source: robfig/cron v3.0.1 parser.go (ParseStandard), spec.go (bounds)
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
"""The days of the week in the order of cron, in which Sunday is the first day."""
_DAY_MINUTES = 24 * 60
WEEK_MINUTES = 7 * _DAY_MINUTES


def utc_hours(days: Iterable[str], start: int, end: int, offsets: Sequence[int]) -> tuple[str, int]:
    """Converts weekly hours in a time zone into a schedule in UTC and a duration in seconds.

    A schedule in UTC does not follow daylight saving time, so the result contains the hours of summer and winter: from
    the start of the local hours at the largest offset from UTC to their end at the smallest offset.

    Args:
        days: names of days of the week, such as mon.
        start: the first minute of the local hours, counted from midnight.
        end: the minute after the local hours; greater than `start`.
        offsets: the offsets of the time zone from UTC in minutes, with and without daylight saving time.
    """
    first = start - max(offsets)
    day_shift, minute_of_day = divmod(first, _DAY_MINUTES)
    hour, minute = divmod(minute_of_day, 60)
    numbers = sorted((DAYS.index(day) + day_shift) % len(DAYS) for day in days)
    duration_seconds = (end - min(offsets) - first) * 60
    return f"{minute} {hour} * * {_day_field(numbers)}", duration_seconds


def _day_field(numbers: list[int]) -> str:
    """Returns sorted numbers of days as the last field of a schedule: "mon-fri", "mon,wed" or "*" for all days."""
    if len(numbers) == len(DAYS):
        return "*"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{DAYS[numbers[0]]}-{DAYS[numbers[-1]]}"
    return ",".join(DAYS[number] for number in numbers)


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The days of the months in a leap year."""
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "
_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_NUMBER = re.compile(r"\+?[0-9]{1,18}")


class _Bounds(NamedTuple):
    """The values that a field of a schedule can have."""

    name: str
    low: int
    high: int
    names: dict[str, int] = {}


_FIELDS = (
    _Bounds("minute", 0, 59),
    _Bounds("hour", 0, 23),
    _Bounds("day of the month", 1, 31),
    _Bounds("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds("day of the week", 0, 6, {name: number for number, name in enumerate(DAYS)}),
)


def schedule_error(schedule: str) -> str:
    """Returns why a text is not a cron schedule; an empty text for a valid schedule."""
    if schedule.startswith("@"):
        is_every = schedule.startswith(_EVERY) and _DURATION.fullmatch(schedule.removeprefix(_EVERY))
        if schedule in _DESCRIPTORS or is_every:
            return ""
        return f"expected {', '.join(_DESCRIPTORS)} or a duration such as @every 1h30m"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        names = ", ".join(bounds.name for bounds in _FIELDS)
        return f"{len(fields)} fields; expected 5: {names}"
    errors = (_field_error(field, bounds) for field, bounds in zip(fields, _FIELDS, strict=True))
    return next(filter(None, errors), "")


def never_fires(schedule: str) -> bool:
    """Returns whether a valid schedule can never run a job, for example on February 30.

    If the day of the month or of the week is a *, a date has to match both fields; otherwise, only one of them.

    Source: robfig/cron v3.0.1 parser.go (getRange), spec.go (dayMatches)
    """
    fields = schedule.split()
    if len(fields) != len(_FIELDS) or not _has_star(fields[4]) or _has_star(fields[2]):
        return False
    days, months = _values(fields[2], _FIELDS[2]), _values(fields[3], _FIELDS[3])
    return not any(day <= _LONGEST[month - 1] for day in days for month in months)


_WEEKLY = {"@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *"}


def weekly_starts(schedule: str) -> frozenset[int] | None:
    """Returns the times in a week at which a valid schedule runs, in minutes from midnight of Sunday.

    Returns None if the times differ between weeks. They differ if the schedule depends on the month or the day of the
    month, or if it is an interval such as `@every 5h`, which counts from the start of the controller.

    Source: robfig/cron v3.0.1 parser.go (parseDescriptor)
    """
    fields = _WEEKLY.get(schedule, schedule).split()
    if len(fields) != len(_FIELDS) or not _has_star(fields[2]) or not _has_star(fields[3]):
        return None
    minutes, hours, _, _, days = (_values(*row) for row in zip(fields, _FIELDS, strict=True))
    return frozenset(day * _DAY_MINUTES + hour * 60 + minute for day in days for hour in hours for minute in minutes)


def _has_star(field: str) -> bool:
    """Returns whether a field has an interval * or ? without a step, or with step 1."""
    return any(re.fullmatch(r"[*?][^/]*(/\+?0*1)?", interval) for interval in field.split(","))


def _values(field: str, bounds: _Bounds) -> set[int]:
    values: set[int] = set()
    for interval in filter(None, field.split(",")):
        base, _, step = interval.partition("/")
        first, _, last = base.partition("-")
        low, high = _value(first, bounds), _value(last, bounds) if last else None
        if low is None:
            low, high = bounds.low, bounds.high
        values |= set(range(low, (high or (bounds.high if step else low)) + 1, int(step or 1)))
    return values


def _field_error(field: str, bounds: _Bounds) -> str:
    for interval in filter(None, field.split(",")):
        base, *steps = interval.split("/")
        if len(steps) > 1 or any(not _NUMBER.fullmatch(step) or int(step) == 0 for step in steps):
            return f'the {bounds.name} "{interval}" has a wrong step; expected for example */5'
        ends = base.split("-")
        values = [_value(end, bounds) for end in ends]
        if ends[0] in ("*", "?"):
            continue
        if len(ends) > 2 or None in values:
            return f'the {bounds.name} is "{interval}"; expected numbers, ranges such as 1-5, or *'
        numbers = [value for value in values if value is not None]
        if not bounds.low <= numbers[0] <= numbers[-1] <= bounds.high:
            return f'the {bounds.name} is "{interval}"; expected {bounds.low} to {bounds.high} in increasing order'
    return ""


def _value(text: str, bounds: _Bounds) -> int | None:
    """Returns the number of a value of a field, which can be a name; None for another text."""
    if text.lower() in bounds.names:
        return bounds.names[text.lower()]
    return int(text) if _NUMBER.fullmatch(text) else None
