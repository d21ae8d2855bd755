from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuc.cluster.queue import Member, from_model
from gpuc.diagnostics.finding import Related
from gpuc.kubernetes.quota import Key
from gpuc.model import Cluster, Queue
from gpuc.model.queue import Cohort
from gpuc.rules import Findings, Found, rule
from gpuc.rules.queues._places import counted_keys, place, place_words


@rule("KUE008", source="kubernetes-sigs/kueue v0.19.2 docs/concepts/cohort.md")
def unreachable_borrowing(cluster: Cluster) -> Findings:
    """A queue may borrow more than the other queues lend.

    Workloads of the queue wait for quota that no queue lends, while nodes are idle.
    """
    for member in from_model(cluster).by_name.values():
        assert member.queue is not None, "the queues of a spec"
        queue, cohort = member.queue, cluster.cohort_of(member.queue)
        for pool, pool_quota in member.pool_quotas.items():
            path, name = (*pool_quota.path, "borrow"), f"queue {queue.name}"
            keys = [key for key in counted_keys(member) if key[0] == pool]
            if pool_quota.spec.borrow == 0:
                continue
            if cohort is None:
                message = f"{name} borrows quota of node pool {pool}, but has no cohort"
                yield path, message, f"remove borrow of {name} for node pool {pool}"
            elif pool_quota.borrow is None and not any(map(member.lent, keys)):
                message = (
                    f"{name} borrows all, but no other queue of cohort {cohort.name} lends quota of node pool {pool}"
                )
                yield path, message, f"set borrow of {name} for node pool {pool} to 0", _lenders(cohort, queue, pool)
            else:
                for found in borrowed_beyond_lent(member, keys):
                    yield found._replace(related=_lenders(cohort, queue, pool))


def borrowed_beyond_lent(member: Member, keys: Iterable[Key]) -> Iterator[Found]:
    """Yields a finding for each borrowing limit of flavors and resources beyond the amounts that other queues lend."""
    reported = set()
    for key in keys:
        limit, (path, manifest) = member.quotas[key].borrow, place(member, key, "borrowingLimit")
        lent = max(0, member.lent(key))
        # One number of the spec can set the limit of several resources.
        if limit is not None and limit > lent and path not in reported:
            reported.add(path)
            borrowed = f"{member.words} borrows {member.unit(key).amount(limit)} of {member.flavor_words(key[0])}"
            available = member.unit(key).number(lent)
            message = f"{borrowed}, but the other queues lend at most {available}"
            fix = f"set {place_words(member, key, 'borrowingLimit')} to {available}"
            yield Found(path, message, fix, manifest=manifest)


def _lenders(cohort: Cohort, queue: Queue, pool: str) -> list[Related]:
    """Returns the places of what the other queues of the cohort lend of a pool, or of their quota without `lend`."""
    related = []
    for other in cohort.queues:
        quota = other.spec.quota.get(pool)
        if quota is not None and other is not queue:
            path = (*other.path, "quota", pool)
            lends = "lend" in quota.model_fields_set
            what = f"queue {other.name} lends {quota.lend}" if lends and not isinstance(quota.lend, dict) else ""
            where = (*path, "lend") if lends else path
            related.append(Related(what or f"quota of queue {other.name}", where, on_key=not lends))
    return related
