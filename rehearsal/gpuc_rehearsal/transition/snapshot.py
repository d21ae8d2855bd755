"""Reads the objects of a control plane at one time. Starts and stops work, and finds out whether the work runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct, field

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model.names import POOL_LABEL
from gpuc_rehearsal.autoscaler import Autoscaler, autoscalers
from gpuc_rehearsal.client import Client, Object, condition, conditions_text, event_time, is_true, now_text
from gpuc_rehearsal.context import CLUSTER_QUEUE, EVENT, LOCAL_QUEUE, NODE, POD, WORKLOAD
from gpuc_rehearsal.process import poll
from gpuc_rehearsal.suites.jobs import NO_CONTROLLER
from gpuc_rehearsal.transition.filling import Filling, create

OWNERS = (("batch/v1", "Job"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet"))
_KINDS = (NODE, POD, EVENT, WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, *OWNERS)
_THREADS = 6
_SECONDS = len("2026-01-31T23:59:59")
"""The length of a time without the fraction of a second."""
START_SECONDS = 120
_POLL_SECONDS = 0.6
_WORK_THREADS = 8
_WORK_KINDS = (POD, WORKLOAD, *OWNERS)


class Snapshot(Struct, frozen=True):
    """The objects of a control plane that were read at one time, by kind."""

    objects: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)

    def of(self, kind: str) -> tuple[Object, ...]:
        """Returns the objects of a kind; none if the API server does not know the kind."""
        return self.objects.get(kind, ())

    @property
    def autoscaler(self) -> Autoscaler | None:
        """The autoscaler whose objects, for example NodeClaims, are in the snapshot; None without such objects."""
        return next((autoscaler for autoscaler in autoscalers() if autoscaler.claim[1] in self.objects), None)

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Returns an object of the snapshot; None if the object did not exist."""
        found = (document for document in self.of(kind) if document["metadata"]["name"] == name)
        return next((document for document in found if document["metadata"].get("namespace", "") == namespace), None)

    def live(self, filling: Filling) -> Object | None:
        """Returns the object of a workload as the snapshot has it; None if the object did not exist."""
        return self.find(filling.kind, filling.name, filling.namespace)

    def workload_of(self, owner: Object) -> Object | None:
        """Returns the Kueue Workload of an object such as a Job; None if Kueue has created no Workload."""
        return next(self.owned("Workload", owner), None)

    def owned(self, kind: str, owner: Object) -> Iterator[Object]:
        """Yields the objects of a kind that have this owner in their ownerReferences."""
        uid = owner["metadata"]["uid"]
        for document in self.of(kind):
            if any(reference["uid"] == uid for reference in document["metadata"].get("ownerReferences", ())):
                yield document

    def pods_of(self, owner: Object) -> list[Object]:
        """Returns the pods of a Job, StatefulSet or Deployment, also through the ReplicaSets of the Deployment."""
        owners = list(self.owned("ReplicaSet", owner)) if owner["kind"] == "Deployment" else [owner]
        return [pod for parent in owners for pod in self.owned("Pod", parent)]

    def events_of(self, document: Object, *reasons: str, since: str = "") -> list[str]:
        """Returns the messages of the events about an object with one of these reasons, the oldest first.

        since: the time from which events count, for example "2026-11-29T10:00:00Z".
        """
        uid = document["metadata"]["uid"]
        events = [
            event
            for event in self.of("Event")
            if event.get("reason") in reasons
            and event.get("involvedObject", {}).get("uid") == uid
            and event_time(event)[:_SECONDS] >= since[:_SECONDS]
        ]
        return [str(event.get("message", "")) for event in sorted(events, key=event_time)]


def take_snapshot(client: Client, kinds: Iterable[tuple[str, str]] | None = None) -> Snapshot:
    """Reads all objects of some kinds, or of all kinds that `gpuc rehearse --from` observes, from the API server."""
    of_nodes = (kind for autoscaler in autoscalers() for kind in (autoscaler.claim, autoscaler.pool))
    served = [kind for kind in kinds or (*of_nodes, *_KINDS) if client.serves(*kind)]
    with ThreadPoolExecutor(_THREADS) as pool:
        lists = pool.map(lambda kind: tuple(client.list_all(*kind)), served)
    return Snapshot({name: documents for (_, name), documents in zip(served, lists, strict=True)})


def pool_of(document: Object) -> str:
    """Returns the node pool of a node, or of an autoscaler's object for a node; "" without a pool."""
    labels = document["metadata"].get("labels", {})
    return str(labels.get(POOL_LABEL) or labels.get(NODE_POOL, ""))


def is_deleting(document: Object) -> bool:
    """Returns whether an object is being deleted: it has a deletionTimestamp."""
    return bool(document["metadata"].get("deletionTimestamp"))


def start_work(client: Client, work: Sequence[Filling], timeout_s: float = START_SECONDS) -> dict[str, str]:
    """Creates workloads, and waits until they run.

    Returns why the other workloads do not run, by "Kind namespace/name".
    """
    with ThreadPoolExecutor(_WORK_THREADS) as pool:
        refused = dict(zip(work, pool.map(partial(create, client), [row.document for row in work]), strict=True))
    waiting = [filling for filling in work if not refused[filling]]

    def all_run() -> bool:
        snapshot = take_snapshot(client, _WORK_KINDS) if waiting else Snapshot()
        report_ready(client, snapshot, waiting)
        waiting[:] = [filling for filling in waiting if why_not_running(snapshot, filling)]
        return not waiting

    poll(all_run, timeout_s, _POLL_SECONDS)
    snapshot = take_snapshot(client, (*_WORK_KINDS, EVENT)) if waiting else Snapshot()
    problems = refused | {filling: why_not_running(snapshot, filling) for filling in waiting}
    return {str(filling): problem for filling, problem in problems.items() if problem or filling in waiting}


def why_not_running(snapshot: Snapshot, filling: Filling) -> str:
    """Returns why a workload does not run; an empty string if it runs."""
    owner = snapshot.live(filling)
    if owner is None:
        return f"{filling.kind} {filling.name} does not exist"
    if filling.local_queue and filling.kind == "Job":
        workload = snapshot.workload_of(owner)
        if workload is None or not is_true(workload, "Admitted"):
            return "Kueue has created no Workload" if workload is None else conditions_text(workload)
    running = [pod for pod in snapshot.pods_of(owner) if is_running(pod)]
    if len(running) >= filling.pods:
        return ""
    return f"{len(running)} of {filling.pods} pods run" + "".join(_reasons(snapshot, owner))


def is_running(pod: Object) -> bool:
    """Returns whether a pod runs on a node and is not being deleted."""
    return pod.get("status", {}).get("phase") == "Running" and not is_deleting(pod)


def report_ready(client: Client, snapshot: Snapshot, work: Iterable[Filling]) -> None:
    """Reports pods as ready for admitted Jobs that have no controller.

    A real controller would do so. Otherwise Kueue would evict the Jobs after the timeout of waitForPodsReady.

    Source: kueue v0.19.2 pkg/controller/jobs/job/job_controller.go (PodsReady)
    """
    for filling in work:
        spec = filling.document.get("spec", {})
        owner = snapshot.live(filling)
        if owner is None or spec.get("managedBy") != NO_CONTROLLER or owner.get("status", {}).get("ready"):
            continue
        if not owner["spec"].get("suspend"):
            status = {"active": spec["parallelism"], "ready": spec["parallelism"], "startTime": now_text()}
            client.patch_object(owner, {"status": status}, "status")


def stop_work(client: Client, work: Collection[Filling]) -> None:
    """Deletes workloads, and waits until their Workload objects of Kueue and their pods are gone too."""
    with ThreadPoolExecutor(_WORK_THREADS) as pool:
        list(pool.map(lambda filling: client.delete_object(filling.document), work))
        names = {(filling.kind, filling.namespace, filling.name) for filling in work}

        def all_gone() -> bool:
            snapshot = take_snapshot(client, _WORK_KINDS)
            dependents = [document for name in names for document in _dependents(snapshot, *name)]
            # The garbage collector needs several seconds for some dependents.
            list(pool.map(client.delete_object, dependents))
            return not dependents and not any(snapshot.find(kind, name, space) for kind, space, name in names)

        poll(all_gone, START_SECONDS, _POLL_SECONDS / 2)


def _dependents(snapshot: Snapshot, kind: str, namespace: str, name: str) -> list[Object]:
    """Returns the Workloads, ReplicaSets and pods of a deleted workload."""
    documents = (*snapshot.of("Workload"), *snapshot.of("ReplicaSet"), *snapshot.of("Pod"))
    return [
        document
        for document in documents
        if document["metadata"]["namespace"] == namespace
        for row in document["metadata"].get("ownerReferences", ())
        if (row["kind"], row["name"]) == (kind, name)
        or (row["kind"], row["name"].rpartition("-")[0]) == ("ReplicaSet", name)
    ]


def _reasons(snapshot: Snapshot, owner: Object) -> list[str]:
    owners = [owner, *snapshot.owned("ReplicaSet", owner)]
    messages = [message for parent in owners for message in snapshot.events_of(parent, "FailedCreate")]
    for pod in snapshot.pods_of(owner):
        messages += [str(condition(pod, "PodScheduled").get("message", ""))]
        messages += snapshot.events_of(pod, "FailedScheduling")[-1:]
    return [f"; {message}" for message in dict.fromkeys(filter(None, messages))]
