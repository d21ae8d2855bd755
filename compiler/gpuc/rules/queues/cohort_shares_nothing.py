from __future__ import annotations

from gpuc.cluster.queue import Tree, from_model, parent
from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule


@rule(
    "QTA009",
    Severity.WARNING,
    source="kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/resource_node.go (potentialAvailable)",
)
def cohort_shares_nothing(cluster: Cluster) -> Findings:
    """The queues of a cohort cannot borrow from one another.

    No queue lends quota that another queue of the cohort may borrow. The cohort has no effect.
    """
    leaving = {pool.name for pool in cluster.pools if pool.spec.leaving}
    paths = {cohort.name: cohort.path for cohort in cluster.cohorts}
    for tree in from_model(cluster).trees:
        queues = [member.queue for member in tree.queues if member.queue]
        # KUE105 reports a cohort with one queue.
        if len({queue.name for queue in queues}) > 1 and not any(
            queue.spec.leaving or leaving & queue.spec.quota.keys() for queue in queues
        ):
            found = shared_nothing(tree)
            yield from [found._replace(path=paths[tree.root.name])] if found else []


def shared_nothing(tree: Tree) -> Found | None:
    """Returns the finding about a cohort in which no ClusterQueue can borrow; None if one can."""
    queues = tree.queues
    rows = [(queue, key, quota) for queue in queues for key, quota in queue.quotas.items()]
    if len(queues) < 2 or not rows or any(queue.capacity(key) > quota.nominal for queue, key, quota in rows):
        return None
    names = ", ".join(sorted({queue.queue.name if queue.queue else queue.name for queue in queues}))
    message = f"the queues of cohort {tree.root.name} cannot borrow from one another: {names}"
    manifest, first = tree.root.manifest, queues[0].manifest
    path = () if manifest or not first else ("spec", parent(first)[0])
    return Found(path, message, manifest=manifest or first)
