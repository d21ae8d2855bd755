"""Replacement of nodes: expiry, drift, working hours and static pools, as Karpenter reads the NodePools."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gpuc.kubernetes.duration import parse_duration
from gpuc.model import Cluster
from gpuc.substrates.eks.karpenter.component import karpenter
from tests.conftest import Variant
from tests.emit.fleet import of_kind

DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


def node_pools(cluster: Cluster) -> dict[str, dict[str, Any]]:
    return {manifest.name: manifest.body["spec"] for manifest in of_kind(karpenter(cluster), "NodePool")}


def starts(schedule: str, duration_seconds: int, time: datetime) -> Iterator[datetime]:
    """Yields the hits of a schedule in the duration before a time, as Budget.IsActive of Karpenter finds them."""
    minute, hour, _, _, days = schedule.split()
    first, _, last = days.partition("-")
    numbers = range(DAYS.index(first), DAYS.index(last) + 1) if last else [DAYS.index(day) for day in days.split(",")]
    for back in range(duration_seconds // 86400 + 2):
        day = time - timedelta(days=back)
        hit = day.replace(hour=int(hour), minute=int(minute), second=0, microsecond=0)
        if (day.weekday() + 1) % 7 in numbers and timedelta() <= time - hit < timedelta(seconds=duration_seconds):
            yield hit


@pytest.mark.parametrize(
    "zone",
    ["America/New_York", "America/Los_Angeles", "Europe/Dublin", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Auckland"],
)
def test_c11_no_node_is_replaced_in_the_working_hours_of_the_whole_year(zone: str, variant: Variant) -> None:
    hours = {"timeZone": zone, "hours": "08:00-18:00", "days": ["mon", "tue", "wed", "thu", "fri"]}
    cluster = variant(lambda spec: spec.update(workingHours=hours))
    pools = node_pools(cluster)
    (window,) = (budget for budget in pools["lab-h100"]["disruption"]["budgets"] if "schedule" in budget)
    assert window["nodes"] == "0" and set(window["reasons"]) == {"Drifted", "Underutilized"}
    assert all(window in pools[pool.name]["disruption"]["budgets"] for pool in cluster.gpu_pools)
    schedule, seconds = window["schedule"], parse_duration(window["duration"])
    # At most one hour more than the working hours, where the time zone has daylight saving time.
    assert seconds in (10 * 3600, 11 * 3600)
    time = datetime(2026, 1, 1, tzinfo=UTC)
    while time.year == 2026:
        local = time.astimezone(ZoneInfo(zone))
        if local.weekday() < 5 and 8 <= local.hour < 18:
            assert any(starts(schedule, seconds, time)), local
        time += timedelta(minutes=30)


def static(instances: int | None, purchase: list[str]) -> Callable[[dict[str, Any]], None]:
    def change(spec: dict[str, Any]) -> None:
        pool = spec["pools"]["train-h100"]
        pool["nodes"] = {"static": 16}
        reservations = {"ids": ["cr-0a1b2c3d4e5f6a7b8"], "instances": instances}
        pool["eks"] |= {"purchase": purchase, "reservations": reservations}

    return change


@pytest.mark.parametrize(
    ("instances", "purchase", "limit"),
    [
        (17, ["reserved"], "17"),
        # Karpenter would start the replacement of a drifted node again and again without success.
        (16, ["reserved"], "16"),
        (None, ["reserved"], "16"),
        (16, ["reserved", "on-demand"], "17"),
    ],
)
def test_c9_a_static_pool_may_start_another_node_only_if_there_is_capacity(
    instances: int | None, purchase: list[str], limit: str, variant: Variant
) -> None:
    spec = node_pools(variant(static(instances, purchase)))["train-h100"]
    assert (spec["replicas"], spec["limits"]) == (16, {"nodes": limit})


def test_c20_a_pool_with_a_reservation_buys_no_other_capacity_by_default(variant: Variant) -> None:
    def without_purchase(spec: dict[str, Any]) -> None:
        del spec["pools"]["train-h100"].setdefault("eks", {})["purchase"]
        del spec["pools"]["lab-h100"].setdefault("eks", {})["purchase"]

    cluster = variant(without_purchase)
    types = {
        name: requirement["values"]
        for name, spec in node_pools(cluster).items()
        for requirement in spec["template"]["spec"]["requirements"]
        if requirement["key"] == "karpenter.sh/capacity-type"
    }
    assert (types["train-h100"], types["lab-h100"]) == (["reserved"], ["on-demand"])
