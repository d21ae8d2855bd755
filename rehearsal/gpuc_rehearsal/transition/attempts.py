"""Finds out which workloads of the state before the change would be refused, or would wait, if they were created now.

Three requests answer this: a dry run in which a member of the tenant creates the workload, a dry run in which a
controller creates one of its pods, and a deletion of the workload, after which it is created again. The last request is
sent only for workloads that use the rest of a quota and have no pods on nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

from gpuc.kubernetes.controllers import user
from gpuc.model import Cluster
from gpuc.parts.workload_kinds import workload_kind
from gpuc_rehearsal.client import ApiError, Client, Object, condition, is_true, reason_text
from gpuc_rehearsal.context import EVENT, POD, WORKLOAD
from gpuc_rehearsal.outcome import Outcome, dry_run, refusing_component
from gpuc_rehearsal.process import poll
from gpuc_rehearsal.transition.filling import Filling, without_generated
from gpuc_rehearsal.transition.outcomes import Attempt
from gpuc_rehearsal.transition.snapshot import OWNERS, Snapshot, is_deleting, stop_work, take_snapshot
from gpuc_rehearsal.transition.synced_changes import ObjectKey

DECISION_SECONDS = 20
"""Seconds to wait for the decision about a workload that was started again."""
PROBE = "-again"
"""Suffix of the names of dry runs."""
_POLL_SECONDS = 0.5
_THREADS = 8
_SAME_ANSWERS = 4
"""A workload waits if it gets the same answer this number of times."""
_SHARED_KINDS = {"Cohort", "Topology", "WorkloadPriorityClass"}
"""Kinds of Kueue that concern the work of all queues."""
_NAMESPACE_KINDS = ("ResourceQuota", "LimitRange")
Answers = Mapping[tuple[str, str], Outcome]
"""The outcomes of the dry runs of one state, by the text of a workload and what is created: its object, or its pod."""


def dry_runs(client: Client, cluster: Cluster, work: Sequence[Filling], snapshot: Snapshot) -> Answers:
    """Creates each workload and one of its pods in dry runs, as the users who usually do so. Returns the outcomes."""
    groups = {space.name: next(iter(tenant.editors(space)), "") for tenant, space in cluster.namespaces}
    with ThreadPoolExecutor(_THREADS) as pool:
        objects = pool.map(lambda filling: _object_answer(client, groups, filling), work)
        pods = pool.map(lambda filling: _pod_answer(client, snapshot, filling), work)
    answers = {"object": objects, "pod": pods}
    return {
        (str(filling), what): answer
        for what, outcomes in answers.items()
        for filling, answer in zip(work, outcomes, strict=True)
        if answer is not None
    }


def refusals(before: Answers, after: Answers) -> dict[str, Attempt]:
    """Returns the workloads that are refused after the change, and that the same component did not refuse before."""
    found: dict[str, Attempt] = {}
    for (text, what), new in sorted(after.items(), key=lambda item: item[0]):
        old = before.get((text, what))
        if old is not None and new.verdict == "refused" and (old.verdict, old.by) != (new.verdict, new.by):
            found.setdefault(text, Attempt("refused", new.by, new.message))
    return found


def to_restart(work: Sequence[Filling], changed: Iterable[ObjectKey]) -> list[list[Filling]]:
    """Returns the workloads to delete and create again: workloads without pods that the change can affect, in groups.

    A group contains the workloads of one ClusterQueue. The groups are created one after another. Otherwise, a workload
    that waits could borrow quota that another queue uses normally.
    """
    names = {(key.kind, key.namespace, key.name) for key in changed}
    is_shared = any(kind in _SHARED_KINDS for kind, _, _ in names)
    limited = {namespace for kind, namespace, _ in names if kind in _NAMESPACE_KINDS}
    groups: dict[str, list[Filling]] = {}
    for filling in work:
        queue, namespace = filling.local_queue, filling.namespace
        own = {("ClusterQueue", "", queue), ("LocalQueue", namespace, queue), ("ResourceFlavor", "", filling.pool)}
        is_concerned = is_shared or own & names if queue else namespace in limited
        if is_concerned and not filling.pods:
            groups.setdefault(queue or namespace, []).append(filling)
    return list(groups.values())


def restart(client: Client, work: Sequence[Filling]) -> dict[str, Attempt]:
    """Deletes workloads and creates them again. Returns those that are then refused or wait, by "Kind namespace/name".

    A workload that waits is deleted, so that it does not preempt others.
    """
    stop_work(client, work)
    found: dict[str, Attempt] = {}
    answers: dict[Filling, list[Attempt]] = {}
    for filling in work:
        try:
            client.create(filling.document)
            answers[filling] = []
        except ApiError as error:
            found[str(filling)] = Attempt("refused", refusing_component(error.message), error.message)

    def all_decided() -> bool:
        snapshot = take_snapshot(client, (POD, WORKLOAD, *OWNERS, EVENT))
        for filling, given in answers.items():
            if not _is_decided(given):
                given.append(_answer(snapshot, filling))
        return all(map(_is_decided, answers.values()))

    poll(all_decided, DECISION_SECONDS, _POLL_SECONDS)
    waiting = {filling: given[-1] for filling, given in answers.items() if given and given[-1].outcome != "kept"}
    stop_work(client, waiting)
    return found | {str(filling): answer for filling, answer in waiting.items()}


def _is_decided(answers: Sequence[Attempt]) -> bool:
    """Returns whether an answer is final: the workload was admitted, or the same outcome has been seen some times."""
    if not answers or answers[-1].outcome == "kept":
        return bool(answers)
    last = answers[-1]
    is_preempting = "preempt" in last.message.lower()
    same = [answer.outcome for answer in answers[-_SAME_ANSWERS:]].count(last.outcome)
    return bool(last.message) and not is_preempting and same == _SAME_ANSWERS


def _answer(snapshot: Snapshot, filling: Filling) -> Attempt:
    """Returns the present answer to a restarted workload."""
    owner = snapshot.live(filling)
    if owner is None:
        return Attempt("waiting")
    if filling.kind == "Deployment":
        return _pods_answer(snapshot, filling, owner)
    workload = snapshot.workload_of(owner) or {}
    if is_true(workload, "Admitted"):
        return Attempt("kept")
    reserved = condition(workload, "QuotaReserved")
    return Attempt("waiting", "Kueue", reason_text(reserved) if reserved else "")


def _pods_answer(snapshot: Snapshot, filling: Filling, owner: Object) -> Attempt:
    pods = [pod for pod in snapshot.pods_of(owner) if not is_deleting(pod)]
    if len(pods) >= filling.document["spec"]["replicas"]:
        return Attempt("kept")
    replica_sets = snapshot.owned("ReplicaSet", owner)
    messages = [text for replica_set in replica_sets for text in snapshot.events_of(replica_set, "FailedCreate")]
    if messages:
        return Attempt("refused", refusing_component(messages[-1]), messages[-1])
    return Attempt("waiting", "Kubernetes")


def _object_answer(client: Client, groups: Mapping[str, str], filling: Filling) -> Outcome:
    group = groups.get(filling.namespace, "")
    sender = client.impersonate(f"member-of-{filling.tenant}", group) if group else client
    document = deepcopy(filling.document)
    document["metadata"]["name"] += PROBE
    return dry_run(sender, document)


def _pod_answer(client: Client, snapshot: Snapshot, filling: Filling) -> Outcome | None:
    """Returns the answer to a replacement of a running pod; None without a running pod."""
    owner = snapshot.live(filling)
    pods = snapshot.pods_of(owner) if owner else []
    if not pods:
        return None
    (reference, *_) = pods[0]["metadata"]["ownerReferences"]
    controller = workload_kind(reference["apiVersion"].rpartition("/")[0], reference["kind"]).controller
    assert controller is not None, "Jobs, ReplicaSets and StatefulSets have controllers"
    return dry_run(client.with_user(user(controller.account)), _replacement(pods[0]))


def _replacement(pod: Object) -> Object:
    """Returns the pod as its controller created it: without the fields that the API server and the scheduler set."""
    document, given = without_generated(pod), pod["metadata"]
    document["metadata"] |= {"name": f"{given['name']}{PROBE}", "ownerReferences": given["ownerReferences"]}
    document["metadata"].pop("generateName", None)
    for key in ("nodeName", "serviceAccount", "priority", "preemptionPolicy"):
        document["spec"].pop(key, None)
    return document
