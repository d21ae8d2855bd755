"""Submits Jobs, and reads their outcome from objects, conditions and events."""

from __future__ import annotations

from dataclasses import replace

from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.node_pool import INSTANCE_TYPE
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.classify_response import refusing_component
from gpuc.rehearse.client import ApiError, Object, WaitError, condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.suites.jobs import Work, job_of

KUEUE_REFUSAL = "Pending"
"""Reason of Kueue's events about a Workload that Kueue does not admit."""
KARPENTER_REFUSAL = "FailedScheduling"
"""Reason of Karpenter's and the scheduler's events about a pod that gets no node."""
EVENT_SECONDS = 5
"""Maximum wait for Kueue's events after the condition. Kueue sends no event about a queue that does not exist."""
KARPENTER_MESSAGE = "Failed to schedule pod"
"""Start of Karpenter's messages, which distinguishes them from the scheduler's messages."""


def submit(context: RehearsalContext, work: Work) -> Object | Outcome:
    """Creates a Job; returns the Job, or the outcome if the Job is refused."""
    try:
        return context.client.create(job_of(context.cluster, work))
    except ApiError as error:
        return Outcome("refused", by=refusing_component(error.message), message=error.message)


def admission(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job, waits for Kueue's decision, and returns the decision."""
    submitted = submit(context, work)
    return submitted if isinstance(submitted, Outcome) else kueue_decision(context, submitted)


def run(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job, and returns its outcome when the Job is complete, refused or pending.

    The wait for a Job whose pods keep running ends when the pods are bound.
    """
    submitted = submit(context, work)
    if isinstance(submitted, Outcome):
        return submitted
    decision = kueue_decision(context, submitted)
    if decision.verdict != "admitted":
        return decision
    return placed(context, submitted, work, decision)


def kueue_decision(context: RehearsalContext, job: Object) -> Outcome:
    """Waits for Kueue's decision about a Job; returns admitted with a flavor, or refused with a message."""
    workload: Object = {}

    def is_decided() -> bool:
        nonlocal workload
        workload = context.workload_of(job) or {}
        return bool(condition(workload, "Admitted").get("status") == "True" or condition(workload, "QuotaReserved"))

    context.until(f"Kueue's decision about Job {job['metadata']['name']}", is_decided, context.timeouts.admission_s)
    if condition(workload, "QuotaReserved").get("status") != "True":
        return Outcome("refused", by="Kueue", message=_reasons(context, workload))
    return Outcome("admitted", flavor=_flavor(workload))


def _reasons(context: RehearsalContext, workload: Object) -> str:
    """Returns all messages about a Workload: Kueue replaces the message of the condition with every new attempt."""
    message = str(condition(workload, "QuotaReserved").get("message", ""))
    try:
        context.until("Kueue's events", lambda: _refusal_events(context, workload) != [], EVENT_SECONDS)
    except WaitError:
        if not message:
            raise
    return "; ".join(dict.fromkeys([message, *_refusal_events(context, workload)]))


def _refusal_events(context: RehearsalContext, workload: Object) -> list[str]:
    return [message for reason, message in context.events_of(workload) if reason == KUEUE_REFUSAL]


def borrowing(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job, and returns Kueue's decision with the borrowed amounts in the status of the ClusterQueue."""
    actual = admission(context, work)
    if actual.verdict != "admitted":
        return actual
    rows: list[Object] = []

    def is_updated() -> bool:
        """Returns whether the status of the ClusterQueue includes every resource of the Job.

        Kueue updates the status shortly after the admission. Before, the status can contain the resources of a deleted
        Workload.
        """
        nonlocal rows
        status = context.client.get(KUEUE_API, "ClusterQueue", work.queue.name).get("status", {})
        flavors = status.get("flavorsReservation", ())
        rows = next((flavor["resources"] for flavor in flavors if flavor["name"] == actual.flavor), [])
        totals = {row["name"]: amount(row["name"], row["total"]) or 0 for row in rows}
        return all(totals.get(name, 0) >= requested for name, requested in work.request.total.items())

    context.until(f"status of ClusterQueue {work.queue.name}", is_updated, context.timeouts.admission_s)
    borrowed = ((row["name"], str(row.get("borrowed", "0"))) for row in rows)
    return replace(actual, borrowed=tuple((name, quantity) for name, quantity in borrowed if quantity != "0"))


def _flavor(workload: Object) -> str:
    """Returns the flavor of all resources. Several names are joined with +, which equals no expected flavor."""
    assignments = workload["status"]["admission"]["podSetAssignments"]
    return "+".join(sorted({flavor for pod_set in assignments for flavor in pod_set.get("flavors", {}).values()}))


def placed(context: RehearsalContext, job: Object, work: Work, decision: Outcome) -> Outcome:
    """Waits until the pods of an admitted Job are bound or complete, or until a component reports why they are pending.

    Returns the decision with the nodes of the pods, or pending with the component's message.
    """
    refusal = ""
    pods: list[Object] = []
    # The nodes of a static pool exist already, so the scheduler's message about them is final.
    is_static = any(pool.is_static for pool in context.cluster.pools if pool.name == decision.flavor)

    def is_settled() -> bool:
        nonlocal pods, refusal
        pods = context.pods_of(job)
        if len(pods) < work.request.pods:
            return False
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        if not waiting:
            return work.keeps_running or all(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods)
        refusal = _scheduling_refusal(context, waiting[0], is_static)
        return bool(refusal)

    context.until(f"nodes for Job {job['metadata']['name']}", is_settled, context.timeouts.node_s)
    if refusal:
        return replace(decision, verdict="pending", by="scheduler" if is_static else "Karpenter", message=refusal)
    if not work.keeps_running:
        context.client.wait_for(
            "batch/v1",
            "Job",
            job["metadata"]["name"],
            lambda current: condition(current, "Complete").get("status") == "True",
            context.timeouts.completion_s,
            job["metadata"]["namespace"],
        )
    names = {pod["spec"]["nodeName"] for pod in pods}
    node_labels = [node["metadata"]["labels"] for node in context.nodes() if node["metadata"]["name"] in names]
    return replace(
        decision,
        verdict="bound" if work.keeps_running else "complete",
        pool="+".join(sorted({labels[POOL_LABEL] for labels in node_labels})),
        instance_types=tuple(sorted({labels[INSTANCE_TYPE] for labels in node_labels})),
        nodes=len(names),
    )


def _scheduling_refusal(context: RehearsalContext, pod: Object, is_static: bool) -> str:
    """Returns the scheduler's message for a static pool, else Karpenter's message; empty before the decision."""
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("reason") != "Unschedulable":
        return ""
    if is_static:
        return str(scheduled.get("message", ""))
    for reason, message in context.events_of(pod):
        if reason == KARPENTER_REFUSAL and message.startswith(KARPENTER_MESSAGE):
            return message
    return ""
