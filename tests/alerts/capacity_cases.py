"""Cases of the alerts for capacity that EC2 does not deliver, takes away, or sells at a higher price."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpuc.model import Cluster, Pool
from gpuc.substrates.eks.scaling import eks
from tests.alerts.case import Case, table_cases
from tests.alerts.series import KARPENTER


def cases(cluster: Cluster) -> Iterator[Case]:
    yield from table_cases("no capacity", pool=cluster.pools[-1].name)
    yield from table_cases("a full pool", pool=cluster.pools[0].name)
    yield from _idle_reservations(cluster)
    for pool in cluster.pools:
        reservations = eks(pool).spec.reservations
        if reservations and set(eks(pool).spec.purchase) != {"reserved"}:
            yield from _reservation(pool.name, reservations.instances or 1)
        if "spot" in eks(pool).spec.purchase and pool.spec.runs:
            yield from _spot(pool)
        hold_at = eks(pool).hold_at(pool.boot_minutes)
        if hold_at and pool.admits_workloads:
            yield from _block(pool, hold_at)


def _reservation(pool: str, instances: int) -> Iterator[Case]:
    fired = [{"pool": pool}]
    for name, on_demand, reserved, expected in (
        (
            "on-demand nodes in a pool with a reservation of which Karpenter finds nothing",
            3,
            0,
            {"50m": [], "62m": fired},
        ),
        ("on-demand nodes although one reserved instance is free", 1, instances - 1, {"62m": fired}),
        ("on-demand nodes in addition to a reservation in full use", 4, instances, {"120m": []}),
        ("only reserved nodes", 0, 2, {"120m": []}),
    ):
        nodes = {
            KARPENTER.series(
                "karpenter_nodes_allocatable", node_name=f"{kind}-{number}", nodepool=pool, capacity_type=kind,
                resource_type=resource, instance_type="p5.48xlarge", phase="Running", managed="true",
            ): "1x150"
            for kind, count in (("on-demand", on_demand), ("reserved", reserved))
            for number in range(count)
            for resource in ("cpu", "memory", "nvidia.com/gpu")
        }  # fmt: skip
        yield Case(f"C20: {name}", "GpucReservationUnused", nodes, expected)


def _idle_reservations(cluster: Cluster) -> Iterator[Case]:
    """Yields cases with all reservations of a known size: one instance of each is free, and all instances run."""
    known = {pool.name: min(found.instances, pool.nodes_max) for pool in cluster.pools
             if (found := eks(pool).spec.reservations) and found.instances}  # fmt: skip
    for free in (1, 0) if known else ():
        nodes = {
            KARPENTER.series(
                "karpenter_nodes_allocatable", node_name=f"{pool}-{number}", nodepool=pool, capacity_type="reserved",
                resource_type="cpu",
            ): "1x400"
            for pool, count in known.items()
            for number in range(count - free)
        }  # fmt: skip
        expected = {"359m": [], "362m": [{"pool": pool} for pool in known] if free else []}
        yield Case(f"{free} instances of each reservation are free", "GpucReservationIdle", nodes, expected)


def _spot(pool: Pool) -> Iterator[Case]:
    assert pool.spec.runs and pool.spec.runs.checkpoint_every
    limit = max(1, 3600 // pool.spec.runs.checkpoint_every // 2)
    rising = " ".join(f"{count}x3" for count in range(1, limit + 2))
    return table_cases("spot", pool=pool.name, limit=limit, more=limit + 1, grown=9 + limit, rising=rising)


def _block(pool: Pool, hold: datetime) -> Iterator[Case]:
    """Yields cases of a capacity block that ends: before and after the time from which new runs do not end in time."""
    reservations = eks(pool).spec.reservations
    assert reservations and reservations.block and pool.spec.runs
    end = datetime.fromisoformat(reservations.block.ends)
    assert end - hold > timedelta(seconds=pool.spec.runs.longest)
    starts = {
        "hour_before_hold": hold - timedelta(hours=1),
        "hour_before_end": end - timedelta(hours=1),
        "week_after_end": end + timedelta(days=7),
    }
    times = {name: time.strftime("%Y-%m-%dT%H:%M:%SZ") for name, time in starts.items()}
    return table_cases("capacity block", pool=pool.name, **times)
