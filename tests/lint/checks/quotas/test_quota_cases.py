"""Findings about quotas, quotas of namespaces and limit ranges of small clusters: the cases of cases.yaml."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.lint.checks.quotas import test_quotas as made
from tests.lint.checks.quotas.test_quotas import GPU, flavor, limited, pool, queue, reported
from tests.tables import table

Row = dict[str, Any]
CASES = table(__file__, "cases.yaml")


def namespaced(kind: str, spec: Any, name: str = "a", api: str = "v1", **labels: str) -> Row:
    metadata = {"name": name, "namespace": "web", "labels": labels}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def limits(limit: Row) -> Row:
    return namespaced("LimitRange", {"limits": [{"type": "Container", **limit}]})


def machines(own: Any, lent: Any) -> list[Row]:
    """A queue that may borrow 8 GPUs from another, and the cpu of both queues; a node has 192 cpu and 8 GPUs."""
    borrower = queue("a", {"a": {"cpu": own, GPU: limited(8, 8)}}, "c")
    lender = queue("b", {"a": {"cpu": lent, GPU: 8}}, "c")
    return [flavor("a", **{"team/pool": "p"}), pool("p", ["p5.48xlarge"]), borrower, lender]


MAKERS: dict[str, tuple[Callable[..., Any], int]] = {
    "flavor": (flavor, 1), "pool": (pool, 2), "queue": (queue, 3), "cohort": (made.cohort, 3), "local": (made.local, 2),
    "hard": (made.hard, 1), "namespaced": (namespaced, 4), "limits": (limits, 1), "machines": (machines, 2),
}  # fmt: skip
"""The functions that make objects, with the numbers of their positional arguments."""


def objects(parts: list[Any]) -> Iterator[Row]:
    for part in parts:
        if isinstance(part, str):
            yield from objects(CASES["sets"][part])
            continue
        maker, count = MAKERS[part[0]]
        arguments = part[1:]
        found = maker(*arguments[:count], **(arguments[count] if len(arguments) > count else {}))
        yield from found if isinstance(found, list) else [found]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{title} {number}")
        for title, cases in CASES["cases"].items()
        for number, case in enumerate(cases)
    ],
)
def test_findings_are_those_of_the_case(case: Row) -> None:
    for key, is_complete in (
        ("complete", True), ("partial", False), ("finds", True), ("finds", False), ("has", True), ("lacks", True),
    ):  # fmt: skip
        if key in case:
            found = reported(list(objects(case["of"])), is_complete=is_complete)
            rules, expected = {rule for rule, _ in found}, {*case[key]}
            if key in ("has", "lacks"):
                rules &= expected
            assert rules == (set() if key == "lacks" else expected), (found, case.get("why", ""))
            messages = "\n".join(text for _, text in found)
            assert not found or [part for part in case.get("says", []) if part not in messages] == []
