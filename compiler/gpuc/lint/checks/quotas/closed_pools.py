from __future__ import annotations

from gpuc.cluster.flavors import every_flavor
from gpuc.cluster.pool_fields import LIMITS, NODES
from gpuc.cluster.pools import Pools
from gpuc.cluster.queue import from_objects
from gpuc.lint.checks import QUEUES_AND_POOLS, Findings, check
from gpuc.lint.checks.consistency.object_consistency import TOO_FEW_NODES
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet


@check(TOO_FEW_NODES, kinds=QUEUES_AND_POOLS)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about static node pools with a limit of 0 nodes whose flavor has quota."""
    pools, with_quota = objects.once(Pools), objects.once(from_objects).with_quota
    for flavor in objects.once(every_flavor):
        for pool in pools.matching(flavor.labels) if flavor.labels and flavor.name in with_quota else ():
            if pool.replicas and pool.is_closed:
                message = f"the limit is 0 nodes, but ClusterQueues have quota for ResourceFlavor {flavor.name}"
                yield ObjectFinding(TOO_FEW_NODES, pool.manifest, (*LIMITS, NODES), message)
