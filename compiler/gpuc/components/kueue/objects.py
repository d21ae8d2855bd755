"""The objects that queues refer to: flavors, topologies, cohorts and priorities."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.components.kueue.queues import fair_share
from gpuc.emit.sync import protected, wave
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Cohort, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.model.time_limits import queued_pools


def shared_objects(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the topologies and flavors of the pools with quota, the priorities, and the cohorts."""
    pools = queued_pools(cluster)
    yield from _topologies(cluster, pools)
    yield from (_flavor(cluster, pool) for pool in pools)
    yield from _priorities(cluster)
    yield from (_cohort(cluster, cohort) for cohort in cluster.cohorts)


def _topologies(cluster: Cluster, pools: tuple[Pool, ...]) -> Iterator[Manifest]:
    """Yields one Topology per list of topology levels.

    A Topology is protected, because the finalizer of Kueue keeps the Topology until no ResourceFlavor refers to it.
    """
    for name, pool in sorted({pool.topology_name: pool for pool in reversed(pools) if pool.spec.topology}.items()):
        file = cluster.out(f"kueue/config/topologies/{name}.yaml")
        levels = [{"nodeLabel": label} for label in pool.level_labels.values()]
        body: Body = {"spec": {"levels": levels}}
        yield Manifest(
            file, (*pool.path, "topology"), KUEUE_API, "Topology", name, body, annotations=protected(cluster, 0)
        )


def _flavor(cluster: Cluster, pool: Pool) -> Manifest:
    """Returns the ResourceFlavor of a pool, with tolerations of the taints of the pool, but not of the startup taints.

    A ResourceFlavor is protected, because the finalizer of Kueue keeps it until no ClusterQueue refers to it.
    """
    spec: Body = {"nodeLabels": {POOL_LABEL: pool.name}}
    if pool.taints:
        spec["tolerations"] = [taint.toleration() for taint in pool.taints]
    if pool.spec.topology:
        spec["topologyName"] = pool.topology_name
    file = cluster.out(f"kueue/config/flavors/{pool.name}.yaml")
    return Manifest(
        file, pool.path, KUEUE_API, "ResourceFlavor", pool.name, {"spec": spec}, annotations=protected(cluster, 0)
    )


def _priorities(cluster: Cluster) -> Iterator[Manifest]:
    """Yields WorkloadPriorityClasses. With PriorityClasses, the scheduler would preempt pods of other queues."""
    file = cluster.out("kueue/config/priorities.yaml")
    for name, value in cluster.spec.priorities.items():
        origin = ("spec", "priorities", name)
        yield Manifest(file, origin, KUEUE_API, "WorkloadPriorityClass", name, {"value": value}, annotations=wave(1))


def _cohort(cluster: Cluster, cohort: Cohort) -> Manifest:
    spec: Body = {"parentName": cohort.spec.parent} if cohort.spec.parent else {}
    spec |= fair_share(cluster, cohort.spec.weight)
    file = cluster.out(f"kueue/config/cohorts/{cohort.name}.yaml")
    return Manifest(
        file, cohort.path, KUEUE_API, "Cohort", cohort.name, {"spec": spec} if spec else {}, annotations=wave(1)
    )
