from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE007", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def lends_more_than_quota(cluster: Cluster) -> Findings:
    """A lending limit of a queue is larger than the quota of the queue.

    Kueue's webhook refuses the ClusterQueue, and the sync fails.
    """
    for queue in cluster.queues:
        for pool, quota in queue.spec.quota.items():
            path = (*queue.path, "quota", pool, "lend")
            if queue.spec.cohort is None or quota.lend == "all":
                continue
            if isinstance(quota.lend, dict):
                for profile, count in quota.lend.items():
                    own = (quota.slices or {}).get(profile, 0)
                    if count > own:
                        actual = f"queue {queue.name} lends {count} {profile} slices of node pool {pool}"
                        message = f"{actual}, but has a quota of {own}"
                        yield (*path, profile), message, f"write {own}"
            else:
                counts = {"nodes": quota.nodes, "GPUs": quota.gpus, "shares": quota.shares}
                name, own = next(((name, count) for name, count in counts.items() if count is not None), ("slices", 0))
                if quota.lend > own:
                    actual = f"queue {queue.name} lends {quota.lend} {name} of node pool {pool}"
                    yield path, f"{actual}, but has a quota of {own}", f"write {own}, or all"
