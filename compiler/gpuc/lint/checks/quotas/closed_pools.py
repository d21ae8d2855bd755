"""Static node pools that start no node, although a ClusterQueue has quota for their flavor."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.flavors import flavors_with_quota
from gpuc.cluster.pool_fields import LIMITS, NODES
from gpuc.cluster.pools import Pools
from gpuc.kubernetes.kueue import GROUP
from gpuc.lint.checks.object_consistency import TOO_FEW_NODES
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, pairs


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields findings about static node pools with a limit of 0 nodes whose flavor has quota."""
    closed = [pool for pool in objects.once(Pools).pools if pool.replicas and pool.is_closed]
    with_quota = flavors_with_quota(objects) if closed else set()
    for pool in closed:
        for flavor in objects.of(GROUP, "ResourceFlavor"):
            wanted = dict(pairs(dig(flavor.body, "spec", "nodeLabels")))
            if wanted and flavor.name in with_quota and wanted.items() <= pool.labels.items():
                message = f"the limit is 0 nodes, but ClusterQueues have quota for ResourceFlavor {flavor.name}"
                yield ObjectFinding(TOO_FEW_NODES, pool.manifest, (*LIMITS, NODES), message)
