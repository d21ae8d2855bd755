"""The node labels with which Kueue places the pods of a workload close together."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.model import Cluster, Pool


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about topology labels; None if no pool has the level block."""
    by_block = [pool for pool in cluster.pools if "block" in (pool.spec.topology or ())]
    if not by_block:
        return None
    pools = {label: [pool for pool in by_block if pool.level_labels["block"] == label] for label in _labels(by_block)}
    prerequisites = tuple(
        Prerequisite(
            id=f"node-label/{label}",
            what=f"the node label `{label}`, which the AWS cloud controller manager sets",
            reason="Kueue admits no workload that requires the level block on nodes without the label",
            checks=(f"{kubectl(cluster)} get nodes -L {label}",),
            expected="a value for each node of the pools",
            path=(*of_label[0].path, "topology"),
        )
        for label, of_label in pools.items()
    )
    return Chapter("Topology labels", "topology.md.j2", prerequisites, {"pools_by_label": pools})


def _labels(pools: list[Pool]) -> list[str]:
    return sorted({pool.level_labels["block"] for pool in pools})
