from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KUE007", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def lends_more_than_quota(cluster: Cluster) -> Findings:
    """A queue lends more than its own quota.

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
                        message = f"lends {count} {profile} slices of {pool}, but has {own}"
                        yield (*path, profile), message, f"write {own}"
            else:
                own = next((part for part in (quota.nodes, quota.gpus, quota.shares) if part is not None), 0)
                if quota.lend > own:
                    yield path, f"lends {quota.lend} of {pool}, but has {own}", f"write {own}, or all"
