"""Work that runs while its pool, its queue or its tenant leaves."""

from __future__ import annotations

from dataclasses import dataclass

from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.client import Client, Object, WaitError
from gpuc.rehearse.context import RehearsalContext, Timeouts
from gpuc.rehearse.expectation import expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.suites.jobs import Work, job
from gpuc.rehearse.suites.observe import kueue_decision, placed

STAYS = {"karpenter.sh/do-not-disrupt": "true"}
"""What long work says: Karpenter ends its node at the end of the grace period, and not before."""
PATIENT = Timeouts(admission_s=40, node_s=120, completion_s=60, removal_s=120)
"""Argo CD and the charts' programs share the machine with the control plane."""


@dataclass(frozen=True)
class HeldWork:
    """A Job whose pod runs until it is deleted."""

    rehearsal: RehearsalContext
    job: Object
    pod: Object

    def __str__(self) -> str:
        metadata = self.job["metadata"]
        return f"Job {metadata['namespace']}/{metadata['name']}"

    @property
    def problem(self) -> str:
        """Why the work does not run any more; empty where the same pod still runs."""
        metadata = self.pod["metadata"]
        now = self.rehearsal.client.find("v1", "Pod", metadata["name"], metadata["namespace"])
        if now is None or now["metadata"]["uid"] != metadata["uid"]:
            return "its pod is gone"
        if "deletionTimestamp" in now["metadata"]:
            return "its pod is being deleted"
        phase = now.get("status", {}).get("phase", "")
        return "" if phase == "Running" else f"its pod is {phase}"

    def end(self) -> None:
        """Deletes the Job and its pod."""
        metadata = self.job["metadata"]
        self.rehearsal.client.delete("batch/v1", "Job", metadata["name"], metadata["namespace"])


def hold(client: Client, rehearsal: RehearsalContext, kind: str, name: str) -> HeldWork | str:
    """Starts a Job on a pool, through a queue, or of a tenant, and waits until it runs; or says why none can."""
    for pool, queue in _places(rehearsal.cluster, kind, name):
        request = Request(next(iter(pool.portions.values())), 1, pool.name)
        if expect(rehearsal.cluster, queue, request).verdict != "admitted":
            continue
        work = Work(f"hold {kind} {name}", queue, request, keeps_running=True)
        document = job(rehearsal.cluster, work)
        document["spec"]["template"]["metadata"]["annotations"] |= STAYS
        document["metadata"]["name"] += "-held"
        made = client.create(document)
        return _bound(rehearsal, made, work)
    return f"no queue admits one pod to {kind} {name}"


def _bound(rehearsal: RehearsalContext, made: Object, work: Work) -> HeldWork | str:
    try:
        decided = kueue_decision(rehearsal, made)
        seen = placed(rehearsal, made, work, decided) if decided.verdict == "admitted" else decided
        if seen.verdict == "bound":
            rehearsal.until("its pod runs", lambda: _running(rehearsal, made) is not None, rehearsal.timeouts.node_s)
    except WaitError as error:
        seen = Outcome("unanswered", message=str(error))
    pod = _running(rehearsal, made)
    if pod is None:
        metadata = made["metadata"]
        rehearsal.client.delete("batch/v1", "Job", metadata["name"], metadata["namespace"])
        return f"the Job that was to run on it is {seen.verdict}: {seen.message}"
    return HeldWork(rehearsal, made, pod)


def _running(rehearsal: RehearsalContext, made: Object) -> Object | None:
    pods = rehearsal.pods_of(made)
    return next((pod for pod in pods if pod.get("status", {}).get("phase") == "Running"), None)


def _places(cluster: Cluster, kind: str, name: str) -> list[tuple[Pool, ClusterQueue]]:
    """Pools and ClusterQueues through which the element's work can come; nodes of a general pool are the cheapest."""
    found = [
        (pool, part)
        for queue in cluster.queues
        for part in queue.cluster_queues
        for pool in part.pools
        if name in {"pool": (pool.name,), "queue": (queue.name,), "tenant": queue.tenant_names}[kind]
    ]
    return sorted(found, key=lambda place: place[0].is_gpu)
