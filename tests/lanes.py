"""The lanes of the tests: `make test` runs a share of what is slow, and `make test-all` runs all tests.

Both run a share of the random draws and of the loops with the most cases; `make conformance-all` runs all of them.
A share is the same in every run: neither the date nor the changed files decide. CONTRIBUTING.md has the limit above
which a test is slow, and `python -m tests.cost` prints what the tests cost.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")
SHARE = 8
"""The fast lane draws one of so many random examples."""
CI_SHARE = 4
"""CI draws one of so many random examples."""


class Lane:
    """The lane of this run, which conftest.py sets before pytest imports a module with tests."""

    is_fast = False
    is_full = True
    """Whether this run makes all draws, as `make conformance-all` does."""


def some(values: Sequence[T], every: int) -> Sequence[T]:
    """Returns all values in the slow lane, and one in `every` in the fast lane, beginning with the first."""
    return values[::every] if Lane.is_fast else values


def ci_share(values: Sequence[T], every: int) -> Sequence[T]:
    """Returns all values in the full lane, and one in `every` in CI and in the fast lane, beginning with the first."""
    return values if Lane.is_full else values[::every]


def reduced(count: int) -> int:
    """Returns the number of random examples of this lane: `count` in the full lane."""
    return max(1, count // (SHARE if Lane.is_fast else 1 if Lane.is_full else CI_SHARE))


def drawn(count: int, **options: object) -> settings:
    """Returns the settings of a test of hypothesis with `count` examples in the full lane."""
    return settings(max_examples=reduced(count), **options)


def mark_slow_cases(items: Iterable[pytest.Item]) -> None:
    """Marks the cases of a test with the mark `share(n)` as slow, except one in n, beginning with the first."""
    numbers: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("share"):
            function = item.nodeid.partition("[")[0]
            if numbers[function] % mark.args[0]:
                item.add_marker(pytest.mark.slow)
            numbers[function] += 1
