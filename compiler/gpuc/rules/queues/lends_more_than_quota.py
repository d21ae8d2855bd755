from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.queue import Member, from_model
from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.rules.queues._places import counted_keys, place, place_words


@rule("KUE007", source="kubernetes-sigs/kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go")
def lends_more_than_quota(cluster: Cluster) -> Findings:
    """A lending limit of a queue is larger than the quota of the queue.

    The admission webhook of Kueue refuses the ClusterQueue, and the sync of Argo CD fails.
    """
    for member in from_model(cluster).by_name.values():
        yield from lent_above_quota(member)


def lent_above_quota(queue: Member) -> Iterator[Found]:
    """Yields a finding for each lending limit of a ClusterQueue above its nominal quota."""
    reported = set()
    for key in counted_keys(queue) if queue.parent is not None else ():
        quota, (path, manifest) = queue.quotas[key], place(queue, key, "lendingLimit")
        if quota.lend is None or quota.lend <= quota.nominal or path in reported:
            continue
        reported.add(path)
        unit = queue.unit(key)
        nominal = unit.number(quota.nominal)
        lent = f"{queue.words} lends {unit.amount(quota.lend)} of {queue.flavor_words(key[0])}"
        fix = f"set {place_words(queue, key, 'lendingLimit')} to {nominal}"
        if path[-1] == "lend":
            fix += " or all"
        related = [Related(f"a quota of {nominal}", place(queue, key, "nominalQuota")[0])]
        yield Found(path, f"{lent}, but has a quota of {nominal}", fix, related, manifest=manifest)
