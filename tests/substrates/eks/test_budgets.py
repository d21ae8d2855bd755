"""Budgets, consolidation and lifetimes of NodePools: what a change of them does to nodes and pods."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import Budget
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.plan.change import Change
from gpuc.plan.planner import plan_cluster
from gpuc.plan.state import State
from gpuc.substrates.eks.budgets import allows_more
from tests.lanes import drawn
from tests.plan.test_manifest_sets import WRONG
from tests.values import changed, paths

POOL = Manifest("", (), "karpenter.sh/v1", "NodePool", "train", {"spec": {}})
MOVES, CLOSED = {"consolidateAfter": "5m"}, {"budgets": [{"nodes": "0"}]}
OFFICE = {"nodes": "0", "schedule": "0 8 * * mon-fri", "duration": "10h"}
MONTHLY = {"nodes": "0", "schedule": "0 8 1 * *", "duration": "48h"}


def manifest(spec: dict[str, Any], **others: Any) -> Manifest:
    return replace(POOL, body={"spec": {"disruption": spec, **others}})


def change(before: dict[str, Any], after: dict[str, Any], **others: Any) -> Change:
    sides = (manifest(spec, **others) for spec in (before, after))
    return Change(*(State("", ObjectSet([side], is_complete=False)) for side in sides))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # All budgets are removed: the default is 10%.
        (
            MOVES | CLOSED,
            MOVES,
            {
                "IMP131": "moves pods to use fewer nodes (until now none while the budget is 0), 10% at a time",
                "IMP133": "drifted nodes are replaced 10% at a time; until now none while the budget is 0",
            },
        ),
        (MOVES, MOVES | {"budgets": []}, {"IMP133": "at a time; until now 10% at a time"}),
        # An empty list of reasons is none: the budget limits nothing.
        (
            MOVES | CLOSED,
            MOVES | {"budgets": [{"nodes": "0", "reasons": []}]},
            {"IMP131": "all at a time", "IMP133": "replaced all at a time; until now none while"},
        ),
        # A budget for all reasons becomes one for a reason.
        (
            MOVES | CLOSED,
            MOVES | {"budgets": [{"nodes": "0", "reasons": ["Drifted"]}]},
            {"IMP130": "empty nodes end all", "IMP131": "(until now none while the budget is 0), all at a time"},
        ),
        (
            {"consolidationPolicy": "WhenEmpty", **MOVES, **CLOSED},
            {"consolidationPolicy": "WhenEmpty", **MOVES, "budgets": [{"nodes": "0", "reasons": ["Drifted"]}]},
            {"IMP130": "empty nodes end all at a time"},
        ),
        (
            MOVES | CLOSED,
            MOVES | {"budgets": [{"nodes": "0", "reasons": ["Empty", "Underutilized"]}]},
            {"IMP133": "drifted nodes are replaced all at a time"},
        ),
        # 0 all day becomes 0 in office hours.
        (
            MOVES | CLOSED,
            MOVES | {"budgets": [OFFICE]},
            {
                "IMP131": "while the budget is 0), all at a time, outside of 10h from 0 8 * * mon-fri (UTC)",
                "IMP133": "outside of 10h from 0 8 * * mon-fri (UTC); until now none",
            },
        ),
        (
            MOVES | {"budgets": [OFFICE]},
            MOVES | CLOSED,
            {"IMP130": "is replaced while the budget is 0; no pods move while"},
        ),
        ({**MOVES, "budgets": [OFFICE]}, {**MOVES, "budgets": [OFFICE | {"duration": "11h"}]}, {"IMP130": "11h from"}),
        (
            {**MOVES, "budgets": [OFFICE]},
            {**MOVES, "budgets": [OFFICE | {"schedule": "0 9 * * mon-fri"}]},
            {"IMP133": "drifted nodes are replaced all at a time, outside of 10h from 0 9 * * mon-fri (UTC)"},
        ),
        ({"budgets": [MONTHLY, OFFICE]}, {"budgets": [OFFICE, MONTHLY]}, {}),
        ({"budgets": [MONTHLY, OFFICE]}, {"budgets": [OFFICE]}, {"IMP133": "until now all at a time, outside of 48h"}),
        # The same budgets in other words.
        (MOVES, MOVES | {"budgets": [{"nodes": "10%"}]}, {}),
        (MOVES | CLOSED, MOVES | {"budgets": [{"nodes": "0%", "schedule": "@daily", "duration": "24h"}]}, {}),
        (MOVES | {"budgets": [OFFICE | {"schedule": "a"}]}, MOVES | CLOSED, {}),
        # Consolidation.
        (
            {"consolidateAfter": "Never"},
            MOVES,
            {
                "IMP131": "fewer nodes (after 5m without a change of pods instead of Never), 10% at a time",
                "IMP132": "empty nodes end after 5m after they stayed",
            },
        ),
        ({}, MOVES, {"IMP132": "empty nodes end after 5m instead of 0s"}),
        (MOVES, {"consolidateAfter": "1m"}, {"IMP131": "after 1m without", "IMP132": "after 1m instead of 5m"}),
        (MOVES, {"consolidateAfter": "Never"}, {"IMP132": "empty nodes stay, and cost, instead of ending after 5m"}),
        (
            MOVES,
            MOVES | {"consolidationPolicy": "WhenEmpty"},
            {"IMP132": "no longer moves pods to use fewer nodes (consolidation WhenEmpty instead of WhenEmptyOr"},
        ),
        (
            MOVES | {"consolidationPolicy": "Balanced"},
            MOVES,
            {"IMP131": "(consolidation WhenEmptyOrUnderutilized instead of Balanced)"},
        ),
        (MOVES, MOVES | {"consolidationPolicy": "Balanced"}, {}),
        ({"consolidateAfter": "Never"}, {"consolidateAfter": "soon"}, {"IMP132": "empty nodes end after soon"}),
        (MOVES, {"consolidateAfter": 5, "consolidationPolicy": [], "budgets": "a"}, {"IMP132": "", "IMP133": ""}),
    ],
)
def test_changes_of_disruption(before: dict[str, Any], after: dict[str, Any], expected: dict[str, str]) -> None:
    found: dict[str, str] = {}
    for impact in plan_cluster(change(before, after)).impacts:
        found[impact.id] = f"{found.get(impact.id, '')}{impact.message}. "
    assert found.keys() == expected.keys(), found
    assert all(text in found[identifier] for identifier, text in expected.items()), found


def test_a_static_pool_is_not_consolidated() -> None:
    closed = change(MOVES | CLOSED, MOVES, replicas=2)
    assert [impact.id for impact in plan_cluster(closed).impacts] == ["IMP133"]


def test_a_small_pool_has_the_same_budget_as_a_percentage() -> None:
    small = change({"budgets": [{"nodes": "1"}]}, {"budgets": [{"nodes": "10%"}]}, limits={"nodes": "10"})
    assert plan_cluster(small).impacts == ()


def test_the_sentences_name_the_pods_that_keep_a_node() -> None:
    found = plan_cluster(change({"consolidateAfter": "Never"}, MOVES)).impacts
    (moves,) = (impact for impact in found if impact.id == "IMP131")
    assert "karpenter.sh/do-not-disrupt, or if a PodDisruptionBudget allows no eviction" in moves.details[0]
    assert "for 5m after a pod" in moves.details[-1]


HOURS = st.builds(
    lambda minute, hour, days, hours: {"schedule": f"{minute} {hour} * * {days}", "duration": f"{hours}h"},
    st.sampled_from((0, 30)),
    st.sampled_from(("*", "8", "8-10", "22")),
    st.sampled_from(("*", "mon-fri", "0,3", "sat")),
    st.sampled_from((1, 12, 30)),
)
BUDGETS = st.lists(
    st.builds(
        lambda nodes, hours, reasons: {"nodes": nodes, **hours, **reasons},
        st.sampled_from(("0", "1", "3", "0%", "20%", "100%")),
        st.just({}) | HOURS,
        st.sampled_from(({}, {"reasons": ["Drifted"]}, {"reasons": ["Empty"]}, {"reasons": []})),
    ),
    max_size=3,
)


@drawn(60)
@given(before=BUDGETS, after=BUDGETS)
def test_budgets_are_compared_at_every_minute_of_the_week(before: list[Any], after: list[Any]) -> None:
    pools = [Pool(manifest({"budgets": budgets}, limits={"nodes": "9"}), ObjectSet([], is_complete=False))
             for budgets in (before, after)]  # fmt: skip
    old, new = (_allowed_by_minute(pool.budgets) for pool in pools)
    expected = any(more > less for more, less in zip(new, old, strict=True))
    assert allows_more(pools[1], pools[0], "Drifted") is expected


def _allowed_by_minute(budgets: tuple[Budget, ...]) -> list[tuple[int, ...]]:
    """For each half hour of a week, how many of 1 to 9 nodes Karpenter replaces, flattened."""
    rows: list[Any] = []
    for half in range(7 * 48):
        counting = [row for row in budgets if row.reasons is None or "Drifted" in row.reasons]
        own = [row for row in counting if _is_active(row, half * 30)]
        rows += [min((_value(row.nodes, count) for row in own), default=count) for count in range(1, 10)]
    return rows


def _value(nodes: str, count: int) -> int:
    return min(int(nodes), count) if nodes.isdigit() else -(-int(nodes[:-1]) * count // 100)


def _is_active(budget: Budget, minute: int) -> bool:
    """As Karpenter: whether the schedule fires within the duration before the minute, or at the minute."""
    if not budget.schedule:
        return True
    fields = budget.schedule.split()
    hours = {"*": range(24), "8": (8,), "8-10": (8, 9, 10), "22": (22,)}[fields[1]]
    days = {"*": range(7), "mon-fri": range(1, 6), "0,3": (0, 3), "sat": (6,)}[fields[4]]
    starts = [day * 1440 + hour * 60 + int(fields[0]) for day in days for hour in hours]
    return any((minute - start) % 10080 < int(budget.duration[:-1]) * 60 for start in starts)


FULL: dict[str, Any] = {
    "consolidateAfter": "5m", "consolidationPolicy": "Balanced",
    "budgets": [OFFICE | {"reasons": ["Drifted"]}, MONTHLY, {"nodes": "10%"}],
}  # fmt: skip
STRANGE = (*WRONG, "9" * 5000, "9" * 5000 + "%", "٣", "@every 1h", "@hourly", "0 0 31 2 *", "-5", "1e3", "5h5h")
EDITS = list(product(paths(FULL), STRANGE))


@drawn(120)
@given(first=st.sampled_from(EDITS), second=st.sampled_from(EDITS))
def test_wrong_values_cause_no_internal_error(first: Any, second: Any) -> None:
    for before, after in ((FULL, changed(FULL, *first)), (changed(FULL, *first), changed(FULL, *second))):
        for sides in ((before, after), (after, before)):
            assert all("\n" not in impact.message for impact in plan_cluster(change(*sides)).impacts)
