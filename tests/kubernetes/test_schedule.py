"""Local hours as schedules in UTC."""

import pytest

from gpuc.kubernetes.cron import utc_hours

WEEKDAYS = ["mon", "tue", "wed", "thu", "fri"]
HOUR = 60


@pytest.mark.parametrize(
    ("days", "start", "end", "offsets", "schedule", "hours"),
    [
        (WEEKDAYS, 8 * HOUR, 18 * HOUR, [0], "0 8 * * mon-fri", 10),
        (WEEKDAYS, 8 * HOUR, 18 * HOUR, [-300, -240], "0 12 * * mon-fri", 11),  # New York
        (WEEKDAYS, 8 * HOUR, 18 * HOUR, [540], "0 23 * * sun-thu", 10),  # Tokyo: the day before in UTC
        (WEEKDAYS, 8 * HOUR, 18 * HOUR, [330], "30 2 * * mon-fri", 10),  # Kolkata
        (WEEKDAYS, 20 * HOUR, 23 * HOUR, [-480, -420], "0 3 * * tue-sat", 4),  # Los Angeles: the day after in UTC
        (["sun", "mon"], 8 * HOUR, 18 * HOUR, [720, 780], "0 19 * * sun,sat", 11),  # Auckland
        (["sat", "mon"], 8 * HOUR, 18 * HOUR, [0], "0 8 * * mon,sat", 10),
        (["sun", *WEEKDAYS, "sat"], 0, 23 * HOUR, [0], "0 0 * * *", 23),
    ],
)  # fmt: skip
def test_hours_in_utc_contain_the_local_hours(
    days: list[str], start: int, end: int, offsets: list[int], schedule: str, hours: int
) -> None:
    assert utc_hours(days, start, end, offsets) == (schedule, hours * 3600)
