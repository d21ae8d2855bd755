"""Durations in the format of Go, for example 72h, 30m or 1h30m."""

import re

_UNIT_SECONDS = {"h": 3600, "m": 60, "s": 1}
_PART = re.compile(r"([0-9]+)(h|m|s)")
_DURATION = re.compile(r"(?:[0-9]+[hms])+")


def parse_duration(text: str) -> int:
    """Converts a duration such as 1h30m into seconds.

    Raises:
        ValueError: if the text is not a duration in hours, minutes or seconds.
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f'"{text}" is not a duration; write hours, minutes and seconds as in 72h, 30m or 1h30m')
    return sum(int(count) * _UNIT_SECONDS[unit] for count, unit in _PART.findall(text))


def format_duration(seconds: int) -> str:
    """Converts seconds into the shortest text of a duration: "1h30m" for 5400, "0s" for 0."""
    parts = []
    for unit, size in _UNIT_SECONDS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
