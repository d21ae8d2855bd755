"""Impacts on queues that are added, stopped or removed, on their LocalQueues, and on the workloads in these queues."""

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.cluster.queue import cluster_queue, from_objects, inactive_reason, parent
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, grouped
from gpuc.objects.selectors import selector
from gpuc.plan.change import Change, Pair, changed
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact, workloads_of
from gpuc.plan.pruning import is_left
from gpuc.plan.queue_usage import users_text, uses
from gpuc.plan.quota_changes import loses, queues, quota_changes, quotas_text
from gpuc.plan.state import State
from gpuc.plan.tenant_changes import owner_and_queue, tenant_of, where_text

_NONE, _HOLD, _DRAIN = "None", "Hold", "HoldAndDrain"


def _removed_queues(change: Change, *, after_leaving: bool) -> Iterator[Raised]:
    """Yields an impact for each queue that is removed.

    Args:
        after_leaving: whether the queue had left: whether its LocalQueues admitted no workloads before the change.
    """
    for name, pairs in queues(change).items():
        if not all(pair.is_removed for pair in pairs):
            continue
        names = [pair.name for pair in pairs]
        local = [
            pair
            for pair in change.pairs(GROUP, "LocalQueue")
            if pair.is_removed and pair.values("spec", "clusterQueue")[0] in names
        ]
        has_left = bool(local) and all(_policy(pair, 0) == _HOLD for pair in local)
        if has_left == after_leaving:
            outcomes = dict.fromkeys(_outcome_without_queue(change, pair.namespace) for pair in local)
            predicts = (
                Prediction(f"workloads of queue {name}", outcome)
                for outcome in outcomes
                if outcome == "refused" or not has_left
            )
            message = f"is removed with its quota: {quotas_text(change, pairs, after=False)}"
            yield pairs[0].raised(message, (), _removal_details(change, pairs, has_left), predicts)


def _removal_details(change: Change, pairs: list[Pair], has_left: bool) -> Iterator[str]:
    """Yields what happens to the workloads, the ClusterQueues and the other queues of the cohort."""
    waiting = "" if has_left else "; workloads that wait stay suspended until they get another queue"
    yield f"workloads that run continue{waiting}"
    yield _deletion(change, pairs)
    yield from loses(quota_changes(change))
    names = [pair.name for pair in pairs]
    yield from users_text("in the queue", [use.manifest for use in uses(change) if use.cluster_queue in names])


def _deletion(change: Change, pairs: list[Pair]) -> str:
    """Returns what happens with the ClusterQueues."""
    left = [pair.manifest for pair in pairs if is_left(change, pair.manifest)]
    if not left:
        return "Argo CD deletes the ClusterQueue; Kueue keeps it until the last running workload has ended"
    names = " ".join(manifest.name for manifest in left)
    cohort = parent(left[0])[1]
    lent = f", and cohort {cohort} can still borrow its quota" if cohort else ""
    return (
        f"Argo CD leaves the ClusterQueue in the cluster{lent}; delete it with kubectl delete clusterqueue {names}; "
        "Kueue then keeps it until the last running workload has ended"
    )


def _outcome_without_queue(change: Change, namespace: str) -> str:
    """Returns "refused" if the policy queue-required denies such workloads in a namespace after the change.

    Without this policy, Kueue creates a Workload that it never admits. The result is then "waiting".
    """
    labels = change.after.objects.namespaces.get(namespace) or change.before.objects.namespaces.get(namespace, {})
    for constraint in change.after.objects.of(CONSTRAINTS, "GpucQueueRequired"):
        is_selected = matches(selector(dig(constraint.body, "spec", "match", "namespaceSelector") or {}), labels)
        if is_selected and dig(constraint.body, "spec", "enforcementAction") == "deny":
            return "refused"
    return "waiting"


class _Stop(NamedTuple):
    """Queues whose stopPolicy changes for the same reason."""

    subject: str
    """The queue, tenant or namespace that leaves; without a spec, the queue."""
    pairs: tuple[Pair, ...]
    """The LocalQueues and ClusterQueues."""
    is_complete: bool
    """Whether `pairs` contains all LocalQueues of the queue."""

    def predictions(self, outcome: str) -> tuple[Prediction, ...]:
        """Returns predictions that queues become inactive, and their workloads get `outcome`, such as "evicted"."""
        names = dict.fromkeys(pair.element for pair in self.pairs)
        inactive = tuple(Prediction(f"queue {name}", "inactive") for name in names)
        kind, _, name = self.subject.partition(" ")
        if kind == "queue" and self.is_complete:
            return (*workloads_of("queue", [name], outcome), *inactive)
        return (*workloads_of("namespace", self.namespaces, outcome), *inactive)

    @property
    def namespaces(self) -> list[str]:
        """The namespaces of the LocalQueues, sorted."""
        return sorted({pair.namespace for pair in self.pairs} - {""})

    def raised(self, message: str, details: tuple[str, ...] = (), predicts: tuple[Prediction, ...] = ()) -> Raised:
        """Returns an impact that is caused by `stopPolicy` of the ClusterQueue or LocalQueue."""
        return Raised(self.subject, message, self.pairs[0].after, ("spec", "stopPolicy"), details, predicts)


def _stop_changes(change: Change, policy: str) -> Iterator[_Stop]:
    """Yields the queues whose stopPolicy becomes a value.

    Source: kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, localqueue_types.go, StopPolicy
    """
    kept = [pair for kind in ("ClusterQueue", "LocalQueue") for pair in change.kept(GROUP, kind)]
    stopped = [pair for pair in kept if _policy(pair, 0) != policy == _policy(pair, 1)]
    for subject, pairs in grouped(stopped, lambda pair: _subject(change, pair)).items():
        names = {str(pair.values("spec", "clusterQueue")[1]) for pair in pairs}
        others = [local for local in change.pairs(GROUP, "LocalQueue") if local.after and local not in pairs]
        is_complete = not any(local.values("spec", "clusterQueue")[1] in names for local in others)
        yield _Stop(subject, tuple(pairs), is_complete or any(pair.manifest.kind == "ClusterQueue" for pair in pairs))


def _policy(pair: Pair, state: int) -> str:
    return str(pair.values("spec", "stopPolicy")[state] or _NONE)


def _subject(change: Change, pair: Pair) -> str:
    """Returns the element that is leaving, in the state after or before. If there is none, returns the queue."""
    clusters = (state.cluster for state in (change.after, change.before))
    for tenant, namespace in (row for cluster in clusters for row in (cluster.namespaces if cluster else ())):
        if namespace.name != pair.namespace:
            continue
        name = cluster_queue(pair.manifest)
        own = [queue for queue in namespace.queues if name in [row.name for row in queue.cluster_queues]]
        if any(queue.spec.leaving for queue in own):
            return f"queue {own[0].name}"
        if tenant.spec.leaving:
            return f"tenant {tenant.name}"
        if namespace.spec.leaving:
            return f"namespace {namespace.name}"
    return pair.subject


@impact("IMP216", Level.NONE)
def queue_added(change: Change) -> Impacts:
    """A queue is new."""
    for pairs in queues(change).values():
        if all(pair.is_added for pair in pairs) and not change.is_new:
            yield pairs[0].raised(f"is new, with quota: {quotas_text(change, pairs, after=True)}")


@impact("IMP215", Level.DISRUPTS)
def queue_removed(change: Change) -> Impacts:
    """A queue is removed that admitted new workloads until this change, so workloads can still be in the queue."""
    yield from _removed_queues(change, after_leaving=False)


@impact("IMP242", Level.NONE)
def left_queue_removed(change: Change) -> Impacts:
    """A queue is removed that admitted no new workloads before this change, because of `leaving: true`."""
    yield from _removed_queues(change, after_leaving=True)


@impact("IMP219", Level.NONE)
def queue_starts(change: Change) -> Impacts:
    """A queue admits workloads again, because `leaving: true` is removed from the queue, tenant or namespace."""
    for stop in _stop_changes(change, _NONE):
        yield stop.raised("workloads are admitted again")


@impact("IMP217", Level.DISRUPTS)
def queue_stops(change: Change) -> Impacts:
    """A queue admits no new workloads any more, because the queue, its tenant or its namespace gets `leaving: true`."""
    for stop in _stop_changes(change, _HOLD):
        is_named = not stop.namespaces or stop.subject.startswith("namespace")
        where = "" if is_named else f" in {', '.join(stop.namespaces)}"
        details = ("workloads that wait, and workloads that Kueue evicts, stay suspended",)
        message = f"no new workload is admitted{where}; running workloads continue"
        yield stop.raised(message, details, stop.predictions("waiting"))


@impact("IMP218", Level.DISRUPTS)
def queue_drains(change: Change) -> Impacts:
    """Kueue evicts all running workloads of a queue, because of stopPolicy HoldAndDrain."""
    for stop in _stop_changes(change, _DRAIN):
        where = f" in {', '.join(stop.namespaces)}" if stop.namespaces else ""
        message = f"all running workloads{where} are evicted, and none is admitted, because of stopPolicy HoldAndDrain"
        yield stop.raised(message, (), stop.predictions("evicted"))


_KEPT = ("ResourceFlavor", "Topology", "AdmissionCheck")
"""The kinds of objects that a finalizer of Kueue keeps after their removal, until no queue refers to them."""


@impact("IMP220", Level.DISRUPTS)
def queue_inactive(change: Change) -> Impacts:
    """A queue becomes inactive: it refers to an object that does not exist, or its cohort is in a cycle of parents."""
    removed = (pair.before for kind in _KEPT for pair in change.pairs(GROUP, kind) if pair.is_removed)
    objects = change.after.objects.with_objects(filter(None, removed))
    for pair in change.pairs(GROUP, "ClusterQueue"):
        before, after = (from_objects(state.objects).by_name.get(pair.name) for state in (change.before, change.after))
        reason = inactive_reason(objects, after) if after else None
        if reason and not (before and inactive_reason(change.before.objects, before)):
            inactive = Prediction(f"queue {pair.element}", "inactive")
            predicts = (inactive, *workloads_of("queue", [pair.element], "waiting"))
            yield pair.raised(f"is inactive and admits no workloads: {reason[0]}", reason[1], (), predicts)


@impact("IMP222", Level.NONE)
def local_queue_added(change: Change) -> Impacts:
    """An existing namespace gets a LocalQueue for an existing queue."""
    added = []
    for pair in change.pairs(GROUP, "LocalQueue"):
        namespace = change.pair("", "Namespace", pair.namespace)
        queue = change.pair(GROUP, "ClusterQueue", str(pair.values("spec", "clusterQueue")[1]))
        is_of_new = (namespace and namespace.is_added) or (queue and queue.is_added) or change.is_new
        added += [pair] if pair.is_added and not is_of_new else []
    for (owner, name), pairs in grouped(added, lambda pair: owner_and_queue(change, pair)).items():
        where = where_text(owner, sorted({pair.namespace for pair in pairs}))
        yield Raised(owner, f"can submit workloads to queue {name}{where}", pairs[0].after)


@impact("IMP223", Level.DISRUPTS)
def local_queue_moves(change: Change) -> Impacts:
    """A LocalQueue refers to another ClusterQueue. The API server refuses this change."""
    for queue in changed(change.pairs(GROUP, "LocalQueue"), ("spec", "clusterQueue")):
        pair, _, before, after = queue
        if before and after:
            message = f"LocalQueue {pair.name} cannot move from ClusterQueue {before} to {after}: immutable field"
            details = (
                "to move it, delete the LocalQueue and let Argo CD create it again; workloads that run continue, and "
                "workloads that wait are queued again",
            )
            predicts = (Prediction(f"object LocalQueue {pair.namespace}/{pair.name}", "refused"),)
            yield queue.raised(message, details, predicts)._replace(subject=f"namespace {pair.namespace}")


@impact("IMP221", Level.DISRUPTS)
def local_queue_removed(change: Change) -> Impacts:
    """A namespace loses its LocalQueue for a queue, although the namespace and the queue stay."""
    removed = (pair for pair in change.pairs(GROUP, "LocalQueue") if pair.is_removed and _stays(change, pair))
    found = uses(change)
    for (owner, queue), pairs in grouped(removed, lambda pair: owner_and_queue(change, pair)).items():
        namespaces = sorted({pair.namespace for pair in pairs})
        where = where_text(owner, namespaces)
        places = {(pair.namespace, pair.name) for pair in pairs}
        users = [use.manifest for use in found if (use.manifest.namespace, use.local_queue) in places]
        details = (
            "workloads that run continue until they end; workloads that wait, and workloads that Kueue evicts, stay "
            "suspended until they get another queue",
            *users_text("in the queue", users),
        )
        predicts = tuple(
            Prediction(f"workloads of namespace {name}", _outcome_without_queue(change, name)) for name in namespaces
        )
        message = f"loses access to queue {queue}{where}: no new workload is admitted"
        yield Raised(owner, message, pairs[0].before, (), details, predicts)


def _stays(change: Change, pair: Pair) -> bool:
    """Returns whether the ClusterQueue and the Namespace of a removed LocalQueue stay, in the same tenant."""
    namespace = change.pair("", "Namespace", pair.namespace)
    cluster_queue = change.pair(GROUP, "ClusterQueue", str(pair.values("spec", "clusterQueue")[0]))
    if namespace and (namespace.is_removed or tenant_of(namespace, 0) != tenant_of(namespace, 1)):
        return False
    return not (cluster_queue and cluster_queue.is_removed)


@impact("IMP241", Level.DISRUPTS)
def selector_excludes_namespaces(change: Change) -> Impacts:
    """A queue no longer accepts workloads from a namespace, although the namespace keeps its LocalQueue."""
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if not pair.before or not pair.after:
            continue
        before, after = _accepted(change.before, pair.before), _accepted(change.after, pair.after)
        excluded = [name for name, is_accepted in after.items() if not is_accepted and before.get(name)]
        if excluded:
            message = f"accepts no workloads of {', '.join(excluded)} any more, although they keep their LocalQueues"
            paths = (field.path for field in pair.fields if field.is_below("spec", "namespaceSelector"))
            path = next(paths, ("spec", "namespaceSelector"))
            yield pair.raised(message, path, (), workloads_of("namespace", excluded, "waiting"))


def _accepted(state: State, queue: Manifest) -> dict[str, bool]:
    """Returns the namespaces with a LocalQueue of a ClusterQueue, and whether its selector matches the namespace."""
    selected, labels = selector(dig(queue.body, "spec", "namespaceSelector")), state.objects.namespaces
    local_queues = from_objects(state.objects).local_queues.get(queue.name, [])
    names = dict.fromkeys(local.namespace for local in local_queues)
    return {name: matches(selected, labels[name]) for name in names if name in labels}
