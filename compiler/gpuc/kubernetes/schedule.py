"""Weekly hours in a time zone as a cron schedule in UTC, for programs that know no time zones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
"""The days of the week in the order of cron, in which Sunday is the first day."""
_DAY_MINUTES = 24 * 60


def utc_hours(days: Iterable[str], start: int, end: int, offsets: Sequence[int]) -> tuple[str, int]:
    """Returns the schedule and the duration in seconds of the hours in UTC that contain the local hours all year.

    A schedule in UTC does not follow daylight saving time. The hours in UTC therefore begin when the local hours begin
    at the largest offset from UTC, and end when the local hours end at the smallest offset.

    Args:
        days: names of days of the week, such as mon.
        start: the first minute of the local hours, counted from midnight.
        end: the minute after the local hours; greater than `start`.
        offsets: the offsets of the time zone from UTC in minutes. They differ with daylight saving time.
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
