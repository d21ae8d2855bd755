"""Prints the CPU seconds of the fast lane: each folder, the dearest tests, and the sum.

The time on a clock depends on the load of the machine. To measure a folder, or all tests, add the arguments
of pytest: python -m tests.cost tests/plan -m ''
"""

import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator

import pytest

DEAREST = 30
_STARTED = pytest.StashKey[float]()
_COSTS: Counter[str] = Counter()


def spent() -> float:
    """Returns the CPU seconds of this process and of its children that ended."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_STARTED] = spent()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, object, object]:
    if call.when == "teardown":
        item.user_properties.append(("cpu", spent() - item.stash[_STARTED]))
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _COSTS[report.nodeid] += sum(value for name, value in report.user_properties if name == "cpu")


def lines() -> Iterator[str]:
    folders: Counter[str] = Counter()
    for test, cost in _COSTS.items():
        folders["/".join(test.partition("::")[0].split("/")[:2])] += cost
    for title, costs in (("by folder", folders.most_common()), ("the dearest tests", _COSTS.most_common(DEAREST))):
        yield f"\nCPU seconds, {title}:"
        yield from (f"{cost:8.2f}  {name}" for name, cost in costs)
    yield f"\n{sum(_COSTS.values()):8.2f}  {len(_COSTS)} tests"
    yield f"{spent():8.2f}  with the start of all processes and the collection"


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        print("\n".join(lines()))


if __name__ == "__main__":
    sys.exit(pytest.main(["-p", "tests.cost", *sys.argv[1:]]))
