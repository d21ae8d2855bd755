"""Costs of instances: reserved capacity costs the same without nodes."""

from __future__ import annotations

from fractions import Fraction

from gpuc.catalog.prices import Price
from gpuc.catalog.records import Purchase
from gpuc.plan.cost_changes import CostChange
from gpuc.plan.costs import Cost, Part


def change(purchase: Purchase) -> CostChange:
    """A pool that shrinks from two nodes to one, with a price of 10 USD an hour."""
    price = Price("p5.48xlarge", "us-east-1", purchase, 10.0, "2026-07-20", "a test")
    before, after = (Cost((Part(Fraction(nodes), price),)) for nodes in (2, 1))
    return CostChange("train", (), before, after)


def test_the_figures_are_of_instances() -> None:
    expected = "-7,300 USD a month for instances: from 14,600 USD to 7,300 USD (on-demand prices of 2026-07-20)"
    assert change("on-demand").figures == expected


def test_reserved_capacity_has_a_sentence() -> None:
    assert change("reserved").reserved_text == ("reserved capacity costs the same without nodes",)
    assert change("on-demand").reserved_text == ()
