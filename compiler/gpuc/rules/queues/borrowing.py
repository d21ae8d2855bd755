"""Rules about the quota that the queues of a cohort lend and borrow."""

from collections.abc import Iterable, Iterator

from gpuc.cluster.queue import Member, Tree, from_model, parent
from gpuc.diagnostics.finding import Related, Severity
from gpuc.kubernetes.quota import Key
from gpuc.model import Cluster, Queue
from gpuc.model.queue import Cohort
from gpuc.rules import Findings, Found, queue_rule, rule
from gpuc.rules.queues.places import counted_keys, place, place_words


@rule("QTA009", Severity.WARNING)
def cohort_shares_nothing(cluster: Cluster) -> Findings:
    """The queues of a cohort cannot borrow from one another."""
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
    """Returns the finding about a cohort in which no ClusterQueue can borrow; None if a ClusterQueue can borrow."""
    queues = tree.queues
    rows = [(queue, key, quota) for queue in queues for key, quota in queue.quotas.items()]
    if len(queues) < 2 or not rows or any(queue.capacity(key) > quota.nominal for queue, key, quota in rows):
        return None
    names = ", ".join(sorted({queue.queue.name if queue.queue else queue.name for queue in queues}))
    message = f"the queues of cohort {tree.root.name} cannot borrow from one another: {names}"
    manifest, first = tree.root.manifest, queues[0].manifest
    path = () if manifest or not first else ("spec", parent(first)[0])
    return Found(path, message, manifest=manifest or first)


@rule("KUE105", Severity.WARNING)
def cohort_without_partners(cluster: Cluster) -> Findings:
    """A cohort has fewer than two queues."""
    for cohort in cluster.cohorts:
        if len(cohort.queues) < 2:
            members = f"only queue {cohort.queues[0].name}" if cohort.queues else "no queues"
            yield Found(cohort.path, f"cohort {cohort.name} has {members}; expected two or more queues")


@rule("KUE007")
def lends_more_than_quota(cluster: Cluster) -> Findings:
    """A lending limit of a queue is larger than the quota of the queue."""
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
        yield Found(path, f"{lent}, but has a quota of only {nominal}", fix, related, manifest=manifest)


@queue_rule("KUE106", Severity.WARNING)
def lends_without_cohort(queue: Queue) -> Findings:
    """A queue has a lending limit, but is in no cohort."""
    for pool, quota in queue.spec.quota.items():
        if queue.spec.cohort is None and "lend" in quota.model_fields_set and quota.lend != 0:
            path = (*queue.path, "quota", pool, "lend")
            message = f"queue {queue.name} has lend for node pool {pool}, but no cohort: queues lend only in a cohort"
            yield Found(path, message, f"set cohort of queue {queue.name}, or remove lend for node pool {pool}")


@rule("KUE008")
def unreachable_borrowing(cluster: Cluster) -> Findings:
    """A queue may borrow more than the other queues lend."""
    for member in from_model(cluster).by_name.values():
        assert member.queue is not None, "the queues of a spec"
        queue, cohort = member.queue, cluster.cohort_of(member.queue)
        for pool, pool_quota in member.pool_quotas.items():
            path, name = (*pool_quota.path, "borrow"), f"queue {queue.name}"
            keys = [key for key in counted_keys(member) if key[0] == pool]
            if pool_quota.spec.borrow == 0:
                continue
            if cohort is None:
                message = f"{name} has borrow for node pool {pool}, but no cohort: queues borrow only in a cohort"
                yield Found(path, message, f"remove borrow of {name} for node pool {pool}")
            elif pool_quota.borrow is None and not any(map(member.lent, keys)):
                lenders = f"no other queue of cohort {cohort.name} lends quota of node pool {pool}"
                fix = f"set borrow of {name} for node pool {pool} to 0"
                yield Found(path, f"{name} borrows all, but {lenders}", fix, _lenders(cohort, queue, pool))
            else:
                for found in borrowed_beyond_lent(member, keys):
                    yield found._replace(related=_lenders(cohort, queue, pool))


def borrowed_beyond_lent(member: Member, keys: Iterable[Key]) -> Iterator[Found]:
    """Yields a finding for each borrowing limit, of the given keys, above the quota that other queues lend."""
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
    """Returns the paths at which the other queues of a cohort set what they lend of a pool.

    A path leads to `lend`, or to the quota if the queue has no `lend`.
    """
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
