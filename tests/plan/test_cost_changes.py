"""Costs of instances: words, prices that only one state has, and the costs of tenants beside those of their pools."""

from fractions import Fraction
from pathlib import Path

from msgspec.structs import replace

from gpuc.catalog import Catalog
from gpuc.catalog.own_rows import OwnRows
from gpuc.catalog.prices import Price
from gpuc.catalog.records import Purchase
from gpuc.plan.change import Change
from gpuc.plan.cost_changes import Cost, CostChange, Part, newly_priced, pool_changes, pool_costs, tenant_costs
from gpuc.plan.planner import plan_cluster
from gpuc.plan.state import State, state_after
from tests.plan.cases import HEAD, compiled

SPEC = f"{HEAD}extends: [training.yaml]\n"
MISSING = "p5.48xlarge, reserved, us-east-1"


def price(purchase: Purchase) -> Price:
    """A price of 10 USD an hour."""
    return Price("p5.48xlarge", "us-east-1", purchase, 10.0, "2026-07-20", "a test")


def change(purchase: Purchase) -> CostChange:
    """A pool that shrinks from two nodes to one."""
    before, after = (Cost((Part(Fraction(nodes), price(purchase)),)) for nodes in (2, 1))
    return CostChange("train", (), before, after)


def with_price(state: State) -> State:
    """The state with the missing price of reserved capacity in the catalog."""
    assert state.cluster is not None
    return replace(state, cluster=replace(state.cluster, catalog=Catalog(OwnRows(prices=(price("reserved"),)))))


def test_the_figures_are_of_instances() -> None:
    expected = "7,300 USD a month less for instances: from 14,600 USD to 7,300 USD (on-demand prices of 2026-07-20)"
    assert change("on-demand").figures == expected


def test_reserved_capacity_has_a_sentence() -> None:
    assert change("reserved").is_reserved
    assert not change("on-demand").is_reserved


def test_two_equal_quotas_without_a_price_are_not_one() -> None:
    part = Part(Fraction(2), None, (MISSING,))
    assert not CostChange("red", (), Cost((part, part)), Cost((part,))).is_priced


def test_a_new_price_is_no_difference_of_costs(tmp_path: Path) -> None:
    before = state_after(compiled(tmp_path / "before", SPEC))
    change = Change(before, with_price(before))
    assert list(pool_changes(change)) == []
    assert list(plan_cluster(change).summary) == [
        "node pool train is now priced: at the maximum 248,000 USD a month for instances"
    ]
    assert list(newly_priced(Change(before, before))) == []


def test_a_new_price_counts_for_both_states(tmp_path: Path) -> None:
    before = state_after(compiled(tmp_path / "before", SPEC))
    larger = "spec: {pools: {train: {reservations: {ids: [cr-0a1b2c3d4e5f6a7b8], instances: 13}}}}\n"
    after = state_after(compiled(tmp_path / "after", SPEC + larger))
    (unknown,), (known,) = (list(pool_changes(Change(before, state))) for state in (after, with_price(after)))
    assert unknown.missing == (MISSING,)
    assert known.missing == ()
    # One reserved node instead of an on-demand node.
    assert known.is_priced
    assert -33_000 < known.monthly_usd < -30_000


def test_the_tenants_of_a_pool_cost_as_much_as_the_pool(tmp_path: Path) -> None:
    # The quotas for batch are 4 nodes. Both tenants have all of the quota for their pools.
    over = "spec: {pools: {batch: {nodes: {max: 3}}}, accept: {KRP004: a test}}\n"
    for number, text in enumerate((SPEC, SPEC + over)):
        cluster = with_price(state_after(compiled(tmp_path / str(number), text))).cluster
        assert cluster is not None
        pools, tenants = (
            sum(cost.monthly_usd for cost in costs(cluster).values()) for costs in (pool_costs, tenant_costs)
        )
        assert round(pools) == round(tenants)
