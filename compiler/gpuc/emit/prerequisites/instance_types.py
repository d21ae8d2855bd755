"""The instance types that EC2 must offer in the region."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about instance types.

    The price table of the catalog has only us-east-1, so that a type without a row there is unknown, not refused.
    """
    paths = {instance.type: pool.path for pool in reversed(cluster.pools) for instance in pool.instances}
    types = sorted(paths)
    rows: list[Row] = [
        ("instance-type", (*paths[name], "instances"), {"name": name, "types": ",".join(types)}) for name in types
    ]
    return written(cluster, "instance_types", "Instance types", rows, pools=cluster.pools)
