"""Cases of the alerts for capacity that EC2 does not deliver, takes away, or sells at a higher price."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpuc.model import Cluster, Pool
from gpuc.substrates.eks.scaling import eks
from tests.alerts.case import Case, Fired
from tests.alerts.series import KARPENTER, KARPENTER_RESTARTED, KUEUE, KUEUE_FOLLOWER, disrupted, karpenter_node


def cases(cluster: Cluster) -> Iterator[Case]:
    yield from _no_capacity(cluster.pools[-1].name)
    for pool in cluster.pools:
        reservations = eks(pool).spec.reservations
        if reservations and set(eks(pool).spec.purchase) != {"reserved"}:
            yield from _reservation(pool.name, reservations.instances or 1)
        if "spot" in eks(pool).spec.purchase and pool.spec.runs:
            yield from _spot(pool)
        hold_at = eks(pool).hold_at(pool.boot_minutes)
        if hold_at and pool.admits_workloads:
            yield from _block(pool, hold_at)


def _no_capacity(pool: str) -> Iterator[Case]:
    failed = disrupted(pool, "insufficient_capacity")
    created = KARPENTER.series("karpenter_nodes_created_total", nodepool=pool, zone="us-east-1a")
    yield Case(
        "EC2 has no instances: a launch fails every 3 minutes, and no node starts",
        "GpucNoCapacity",
        {failed: "_x10 1x2 2x2 3x2 4x2 5x2 6x2 7x2 8x2 9x2 10x2 11x2 12x2 13x2 14x60"},
        {"9m": [], "30m": [], "42m": [Fired({"nodepool": pool})]},
    )
    yield Case(
        "launches fail in one zone, and succeed in another zone",
        "GpucNoCapacity",
        {failed: "_x10 1x2 2x2 3x2 4x2 5x2 6x2 7x2 8x2 9x2 10x2 11x2 12x2 13x2 14x60", created: "5x20 6x30 7x60"},
        {"45m": [], "60m": []},
    )
    yield Case(
        "one launch fails, and no pod waits any more", "GpucNoCapacity", {failed: "_x10 1x120"}, {"39m": [], "60m": []}
    )


def _reservation(pool: str, instances: int) -> Iterator[Case]:
    def nodes(kind: str, count: int, values: str = "1x150") -> dict[str, str]:
        return {
            karpenter_node(f"{kind}-{number}", pool, kind, resource): values
            for number in range(count)
            for resource in ("cpu", "memory", "nvidia.com/gpu")
        }

    fired = [Fired({}, {"pool": pool})]
    yield Case(
        "C20: on-demand nodes in a pool with a reservation of which Karpenter finds nothing",
        "GpucReservationUnused",
        nodes("on-demand", 3),
        {"50m": [], "62m": fired},
    )
    yield Case(
        "C20: on-demand nodes although one reserved instance is free",
        "GpucReservationUnused",
        {**nodes("on-demand", 1), **nodes("reserved", instances - 1)},
        {"62m": fired},
    )
    yield Case(
        "C20: on-demand nodes in addition to a reservation in full use",
        "GpucReservationUnused",
        {**nodes("on-demand", 4), **nodes("reserved", instances)},
        {"120m": []},
    )
    yield Case("C20: only reserved nodes", "GpucReservationUnused", nodes("reserved", 2), {"120m": []})


def _spot(pool: Pool) -> Iterator[Case]:
    assert pool.spec.runs and pool.spec.runs.checkpoint_every
    limit = max(1, 3600 // pool.spec.runs.checkpoint_every // 2)
    series = disrupted(pool.name, "spot_interrupted", "spot")
    fired = [Fired({"nodepool": pool.name})]
    rising = " ".join(f"{count}x3" for count in range(1, limit + 2))
    yield Case(
        f"C24: {limit + 1} interruptions, with which the counter begins",
        "GpucSpotInterrupted",
        {series: f"_x20 {rising} {limit + 1}x120"},
        {"20m": [], "50m": fired, "110m": []},
    )
    yield Case(
        "C24: all interruptions between two scrapes: the counter begins with their number",
        "GpucSpotInterrupted",
        {series: f"_x20 {limit + 1}x120"},
        {"21m": fired, "79m": fired, "85m": []},
    )
    yield Case(
        f"{limit} interruptions in an hour, of a counter that exists for hours",
        "GpucSpotInterrupted",
        {series: f"9x150 {9 + limit}x60"},
        {"149m": [], "160m": [], "200m": []},
    )
    yield Case(
        "interruptions before and after a restart of Karpenter count together",
        "GpucSpotInterrupted",
        {
            series: f"9x130 {9 + limit}x9 stale",
            disrupted(pool.name, "spot_interrupted", "spot", KARPENTER_RESTARTED): "_x145 1x60",
        },
        {"140m": [], "150m": fired},
    )


def _block(pool: Pool, hold: datetime) -> Iterator[Case]:
    """Yields cases of a capacity block that ends: before and after the time from which new runs do not end in time."""
    reservations = eks(pool).spec.reservations
    assert reservations and reservations.block and pool.spec.runs
    end = datetime.fromisoformat(reservations.block.ends)
    assert end - hold > timedelta(seconds=pool.spec.runs.longest)
    fired = [Fired({}, {"pool": pool.name})]

    def usage(gpus: int) -> dict[str, str]:
        labels = {"cluster_queue": "any", "flavor": pool.name, "resource": "nvidia.com/gpu", "cohort": ""}
        metric = "kueue_cluster_queue_resource_reservation"
        return {
            KUEUE.series(metric, **labels): f"{gpus}x200",
            # The follower still shows the workload that has ended.
            KUEUE_FOLLOWER.series(metric, **labels): "8x200",
        }

    def at(time: datetime) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ")

    yield Case(
        "C19: a capacity block that ends: new runs do not end in time",
        "GpucCapacityBlockEnds",
        usage(8),
        {"59m": [], "61m": fired, "120m": fired},
        start=at(hold - timedelta(hours=1)),
    )
    yield Case(
        "C19: the last hour of a capacity block that no workload uses",
        "GpucCapacityBlockEnds",
        usage(0),
        {"30m": fired, "61m": [], "120m": []},
        start=at(end - timedelta(hours=1)),
    )
    yield Case(
        "C19: a capacity block has ended, and its queue still admits workloads",
        "GpucCapacityBlockEnds",
        usage(16),
        {"60m": fired},
        start=at(end + timedelta(days=7)),
    )
    yield Case(
        "C19: a capacity block has ended a week ago",
        "GpucCapacityBlockEnds",
        usage(0),
        {"60m": []},
        start=at(end + timedelta(days=7)),
    )
