"""Submits Jobs and reads their outcome from the objects, conditions and events of the controllers."""

from __future__ import annotations

from dataclasses import replace

from gpuc.kubernetes.amounts import amount
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.classify_response import refusing_component
from gpuc.rehearse.client import ApiError, Object, WaitError, condition
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.instance_types import INSTANCE_TYPE_LABEL
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.suites.jobs import Work, job

KUEUE_REFUSAL = "Pending"
"""Reason of Kueue's events about a workload that Kueue does not admit."""
KARPENTER_REFUSAL = "FailedScheduling"
EVENT_SECONDS = 5
"""Events follow shortly after the condition. Kueue sends no event about a queue that does not exist."""
KARPENTER_MESSAGE = "Failed to schedule pod"
"""Start of Karpenter's event messages; the scheduler's events have the same reason."""


def submit(context: RehearsalContext, work: Work) -> Object | Outcome:
    """The created Job, or the refusal."""
    try:
        return context.client.create(job(context.cluster, work))
    except ApiError as error:
        return Outcome("refused", by=refusing_component(error.message), message=error.message)


def admission(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job and waits for Kueue's decision."""
    made = submit(context, work)
    return made if isinstance(made, Outcome) else kueue_decision(context, made)


def run(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job and waits until it is complete or refused. If its pods keep running, waits until they are bound."""
    made = submit(context, work)
    if isinstance(made, Outcome):
        return made
    decided = kueue_decision(context, made)
    if decided.verdict != "admitted":
        return decided
    return placed(context, made, work, decided)


def kueue_decision(context: RehearsalContext, made: Object) -> Outcome:
    """Kueue's decision about a Job: admitted with a flavor, or refused with a message."""
    workload: Object = {}

    def decided() -> bool:
        nonlocal workload
        workload = context.workload_of(made) or {}
        return bool(condition(workload, "Admitted").get("status") == "True" or condition(workload, "QuotaReserved"))

    context.until(f"Kueue's decision about {made['metadata']['name']}", decided, context.timeouts.admission_s)
    if condition(workload, "QuotaReserved").get("status") != "True":
        return Outcome("refused", by="Kueue", message=_reasons(context, workload))
    return Outcome("admitted", flavor=_flavor(workload))


def _reasons(context: RehearsalContext, workload: Object) -> str:
    """All messages about a workload: Kueue tries the flavors in order and overwrites the condition's message."""
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
    """Submits a Job, waits for Kueue's decision, and reads the borrowed amounts from the queue's status."""
    actual = admission(context, work)
    if actual.verdict != "admitted":
        return actual
    rows: list[Object] = []

    def counted() -> bool:
        """Whether the queue's status includes every resource of the workload.

        Kueue updates the status shortly after the admission. Until then the status can be that of a deleted
        workload with other resources.
        """
        nonlocal rows
        status = context.client.get(KUEUE_API, "ClusterQueue", work.queue.name).get("status", {})
        flavors = status.get("flavorsReservation", ())
        rows = next((flavor["resources"] for flavor in flavors if flavor["name"] == actual.flavor), [])
        totals = {row["name"]: amount(row["name"], row["total"]) or 0 for row in rows}
        return all(totals.get(name, 0) >= requested for name, requested in work.request.total.items())

    context.until(f"status of queue {work.queue.name}", counted, context.timeouts.admission_s)
    borrowed = ((row["name"], str(row.get("borrowed", "0"))) for row in rows)
    return replace(actual, borrowed=tuple((name, quantity) for name, quantity in borrowed if quantity != "0"))


def _flavor(workload: Object) -> str:
    """The flavor of all resources. Several flavors are joined; no expectation has such a name."""
    assignments = workload["status"]["admission"]["podSetAssignments"]
    return "+".join(sorted({flavor for pod_set in assignments for flavor in pod_set.get("flavors", {}).values()}))


def placed(context: RehearsalContext, made: Object, work: Work, decided: Outcome) -> Outcome:
    """Waits until the pods of an admitted Job are bound, or until a component reports why they stay pending."""
    refusal = ""
    pods: list[Object] = []
    # The nodes of a static pool exist already, so the scheduler's message about them is final.
    static = any(pool.is_static for pool in context.cluster.pools if pool.name == decided.flavor)

    def settled() -> bool:
        nonlocal pods, refusal
        pods = context.pods_of(made)
        if len(pods) < work.request.pods:
            return False
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        if not waiting:
            return work.keeps_running or all(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods)
        refusal = _scheduling_refusal(context, waiting[0], static)
        return bool(refusal)

    context.until(f"nodes for {made['metadata']['name']}", settled, context.timeouts.node_s)
    if refusal:
        return replace(decided, verdict="pending", by="scheduler" if static else "Karpenter", message=refusal)
    if not work.keeps_running:
        context.client.wait_for(
            "batch/v1",
            "Job",
            made["metadata"]["name"],
            lambda found: condition(found, "Complete").get("status") == "True",
            context.timeouts.completion_s,
            made["metadata"]["namespace"],
        )
    names = {pod["spec"]["nodeName"] for pod in pods}
    node_labels = [node["metadata"]["labels"] for node in context.nodes() if node["metadata"]["name"] in names]
    return replace(
        decided,
        verdict="bound" if work.keeps_running else "complete",
        pool="+".join(sorted({labels[POOL_LABEL] for labels in node_labels})),
        instance_types=tuple(sorted({labels[INSTANCE_TYPE_LABEL] for labels in node_labels})),
        nodes=len(names),
    )


def _scheduling_refusal(context: RehearsalContext, pod: Object, static: bool) -> str:
    """Why a pod gets no node: the scheduler's message for static pools, else Karpenter's; empty before the decision."""
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("reason") != "Unschedulable":
        return ""
    if static:
        return str(scheduled.get("message", ""))
    for reason, message in context.events_of(pod):
        if reason == KARPENTER_REFUSAL and message.startswith(KARPENTER_MESSAGE):
            return message
    return ""
