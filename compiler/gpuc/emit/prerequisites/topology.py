"""The node labels with which Kueue places the pods of a workload close together."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about topology labels; None if no pool has the level block."""
    by_block = [pool for pool in cluster.pools if "block" in (pool.spec.topology or ())]
    if not by_block:
        return None
    label = LEVEL_LABELS["block"]
    prerequisite = Prerequisite(
        id=f"node-label/{label}",
        what=f"the node label `{label}`, which the AWS cloud controller manager sets",
        reason="Kueue admits no workload that requires the level block on nodes without the label",
        checks=(f"{kubectl(cluster)} get nodes -L {label}",),
        expected="a value for each node of the pools",
        path=(*by_block[0].path, "topology"),
    )
    return Chapter("Topology labels", "topology.md.j2", (prerequisite,), {"by_block": by_block, "block_label": label})
