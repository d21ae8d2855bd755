"""A Job that runs while the pool, the queue or the tenant of the Job is removed."""

from __future__ import annotations

from dataclasses import dataclass

from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.rehearse.client import Client, Object, WaitError
from gpuc.rehearse.context import RehearsalContext, Timeouts
from gpuc.rehearse.expectation import expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.suites.jobs import DO_NOT_DISRUPT, Work, job_of, kueue_decision, placed

TIMEOUTS = Timeouts(admission_s=40, node_s=120, completion_s=60, removal_s=120)
"""Longer than the defaults, because Argo CD and the programs of the charts share the machine with the control plane."""


@dataclass(frozen=True)
class RunningJob:
    """A Job whose pod runs until the Job is deleted."""

    context: RehearsalContext
    job: Object
    pod: Object

    def __str__(self) -> str:
        metadata = self.job["metadata"]
        return f"Job {metadata['namespace']}/{metadata['name']}"

    @property
    def problem(self) -> str:
        """Why the Job does not run any more. Empty if the same pod still runs."""
        metadata = self.pod["metadata"]
        current = self.context.client.find("v1", "Pod", metadata["name"], metadata["namespace"])
        if current is None or current["metadata"]["uid"] != metadata["uid"]:
            return "the pod of the Job does not exist any more"
        if "deletionTimestamp" in current["metadata"]:
            return "the pod of the Job is being deleted"
        phase = current.get("status", {}).get("phase", "")
        return "" if phase == "Running" else f"the pod of the Job is {phase}"

    def delete(self) -> None:
        """Deletes the Job and its pod."""
        self.context.client.delete_object(self.job)


def start_job(client: Client, context: RehearsalContext, kind: str, name: str) -> RunningJob | str:
    """Starts a Job on a pool, through a queue or for a tenant. Returns the Job, or the reason why no Job can run.

    kind is pool, queue or tenant; name is the name of this element.
    """
    for pool, queue in _pools_and_queues(context.cluster, kind, name):
        request = Request(next(iter(pool.portions.values())), 1, pool.name)
        if expect(context.spec, queue, request).verdict != "admitted":
            continue
        work = Work(f"hold {kind} {name}", queue, request, keeps_running=True)
        document = job_of(context.cluster, work)
        document["spec"]["template"]["metadata"]["annotations"] |= DO_NOT_DISRUPT
        document["metadata"]["name"] += "-held"
        created = client.create(document)
        return _wait_until_running(context, created, work)
    return f"no queue admits one pod to {kind} {name}"


def _wait_until_running(context: RehearsalContext, created: Object, work: Work) -> RunningJob | str:
    try:
        decided = kueue_decision(context, created)
        outcome = placed(context, created, work, decided) if decided.verdict == "admitted" else decided
        if outcome.verdict == "bound":
            context.until("the pod runs", lambda: _running_pod(context, created) is not None, context.timeouts.node_s)
    except WaitError as error:
        outcome = Outcome("unanswered", message=str(error))
    pod = _running_pod(context, created)
    if pod is None:
        context.client.delete_object(created)
        return f"the Job is {outcome.verdict}: {outcome.message}"
    return RunningJob(context, created, pod)


def _running_pod(context: RehearsalContext, created: Object) -> Object | None:
    pods = context.pods_of(created)
    return next((pod for pod in pods if pod.get("status", {}).get("phase") == "Running"), None)


def _pools_and_queues(cluster: Cluster, kind: str, name: str) -> list[tuple[Pool, ClusterQueue]]:
    """Returns pools and ClusterQueues that a Job of the element can use, pools without GPUs first."""
    pairs = [
        (pool, cluster_queue)
        for queue in cluster.queues
        for cluster_queue in queue.cluster_queues
        for pool in cluster_queue.pools
        if name in {"pool": (pool.name,), "queue": (queue.name,), "tenant": queue.tenant_names}[kind]
    ]
    return sorted(pairs, key=lambda pair: pair[0].is_gpu)
