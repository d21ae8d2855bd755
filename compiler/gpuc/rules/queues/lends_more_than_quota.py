from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.model.units import with_unit
from gpuc.rules import Findings, rule
from gpuc.rules.queues._units import amount_path


@rule("KUE007", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def lends_more_than_quota(cluster: Cluster) -> Findings:
    """A lending limit of a queue is larger than the quota of the queue.

    The admission webhook of Kueue refuses the ClusterQueue, and the sync of Argo CD fails.
    """
    for queue in cluster.queues:
        for pool, quota in queue.spec.quota.items():
            path = (*queue.path, "quota", pool, "lend")
            if queue.spec.cohort is None or quota.lend == "all":
                continue
            if isinstance(quota.lend, dict):
                for profile, count in quota.lend.items():
                    nominal = (quota.slices or {}).get(profile, 0)
                    if count > nominal:
                        actual = f"queue {queue.name} lends {with_unit(count, f'{profile} slices')} of node pool {pool}"
                        fix = f"set lend.{profile} of queue {queue.name} for node pool {pool} to {nominal}"
                        related = [Related(f"a quota of {nominal}", (*path[:-1], "slices", profile))]
                        yield (*path, profile), f"{actual}, but has a quota of {nominal}", fix, related
            else:
                counts = {"nodes": quota.nodes, "GPUs": quota.gpus, "GPU shares": quota.shares}
                given = ((unit, count) for unit, count in counts.items() if count is not None)
                unit, nominal = next(given, ("slices", 0))
                if quota.lend > nominal:
                    actual = f"queue {queue.name} lends {with_unit(quota.lend, unit)} of node pool {pool}"
                    fix = f"set lend of queue {queue.name} for node pool {pool} to {nominal} or all"
                    related = [Related(f"a quota of {nominal}", amount_path(path[:-1], quota))]
                    yield path, f"{actual}, but has a quota of {nominal}", fix, related
