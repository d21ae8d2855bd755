"""The node labels that a cluster needs."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster


def topology(cluster: Cluster) -> Chapter:
    """Returns the chapter about the node labels with which Kueue places the pods of a workload close together."""
    by_block = [pool for pool in cluster.pools if "block" in (pool.spec.topology or ())]
    labels = sorted({pool.level_labels["block"] for pool in by_block})
    pools = {label: [pool for pool in by_block if pool.level_labels["block"] == label] for label in labels}
    rows: list[Row] = [
        ("node-label", (*of_label[0].path, "topology"), {"name": label}) for label, of_label in pools.items()
    ]
    return written(cluster, "topology", "Topology labels", rows, pools_by_label=pools)
