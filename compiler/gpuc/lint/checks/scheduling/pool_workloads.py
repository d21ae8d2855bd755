"""Workloads without a queue whose pods select node pools of the input and fit none of their nodes.

Source: the decisions of gpuc.trace
"""

from gpuc.cluster.index import Index
from gpuc.diagnostics.contract import PODS
from gpuc.lint.checks import (
    KUEUE_CONFIGURATION,
    NAMESPACE_LIMITS,
    POD_NEEDS,
    QUEUES_AND_POOLS,
    Findings,
    check,
    rule_of,
)
from gpuc.lint.checks.scheduling.node_ends import own_pools
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pods import pods_of
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.steps import Stage
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import workload_of

NO_ROOM = rule_of("SCD013")


@check(NO_ROOM, kinds=(*QUEUES_AND_POOLS, *NAMESPACE_LIMITS, PODS, *POD_NEEDS, *KUEUE_CONFIGURATION))
def findings(objects: ObjectSet) -> Findings:
    """Yields a finding for every workload without a queue that the nodes of the selected pools cannot hold."""
    index = objects.once(Index)
    for manifest in objects.manifests if index.nodes.pools else ():
        own = list(pods_of(manifest))
        is_selecting = own and all(not row.queue and own_pools(row, index) for row in own)
        if not is_selecting or (work := workload_of(manifest)) is None:
            continue
        step = trace_workload(objects.once(ClusterIndex), work, creation=False).failure
        if step is not None and step.stage is Stage.NODE:
            yield ObjectFinding(NO_ROOM, manifest, step.field or own[0].path or ("spec",), step.message)
