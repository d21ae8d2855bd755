"""What became of work: read off the objects that the controllers write, and their words."""

from __future__ import annotations

from dataclasses import replace

from gpuc.kubernetes.amounts import CPU
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.client import ApiError, Object, WaitError, condition
from gpuc.rehearse.instance_types import INSTANCE_TYPE_LABEL
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.scenes.jobs import Work, job
from gpuc.rehearse.session import Rehearsal
from gpuc.rehearse.verdict import refuser

KUEUE_REFUSAL = "Pending"
"""The reason of Kueue's events about work that it does not admit."""
KARPENTER_REFUSAL = "FailedScheduling"
EVENT_SECONDS = 5
"""Events come a moment after the condition; of a queue that does not exist there are none."""
KARPENTER_WORDS = "Failed to schedule pod"
"""How Karpenter's events begin; the scheduler's have the same reason."""


def submit(rehearsal: Rehearsal, work: Work) -> Object | Outcome:
    """The Job as the API server keeps it, or who refused it."""
    try:
        return rehearsal.client.create(job(rehearsal.cluster, work))
    except ApiError as error:
        return Outcome("refused", by=refuser(error.message), words=error.message)


def admission(rehearsal: Rehearsal, work: Work) -> Outcome:
    """Submits work and waits for Kueue's answer."""
    made = submit(rehearsal, work)
    return made if isinstance(made, Outcome) else answer(rehearsal, made)


def run(rehearsal: Rehearsal, work: Work) -> Outcome:
    """Submits work and waits until it is complete, or bound where its pods hold on, or somebody refuses."""
    made = submit(rehearsal, work)
    if isinstance(made, Outcome):
        return made
    decided = answer(rehearsal, made)
    if decided.verdict != "admitted":
        return decided
    return placed(rehearsal, made, work, decided)


def answer(rehearsal: Rehearsal, made: Object) -> Outcome:
    """Kueue's answer to a Job: admitted with its flavor, or refused with its words."""
    found: Object = {}

    def answered() -> bool:
        nonlocal found
        found = rehearsal.workload_of(made) or {}
        return bool(condition(found, "Admitted").get("status") == "True" or condition(found, "QuotaReserved"))

    rehearsal.until(f"answer of Kueue to {made['metadata']['name']}", answered, rehearsal.timeouts.admission_s)
    if condition(found, "QuotaReserved").get("status") != "True":
        return Outcome("refused", by="Kueue", words=_reasons(rehearsal, found))
    return Outcome("admitted", flavor=_flavor(found))


def _reasons(rehearsal: Rehearsal, workload: Object) -> str:
    """Everything that Kueue said: it tries one flavor after the other, and each time replaces what it said before."""
    said = str(condition(workload, "QuotaReserved").get("message", ""))
    try:
        rehearsal.until("words of Kueue", lambda: _told(rehearsal, workload) != [], EVENT_SECONDS)
    except WaitError:
        if not said:
            raise
    return "; ".join(dict.fromkeys([said, *_told(rehearsal, workload)]))


def _told(rehearsal: Rehearsal, workload: Object) -> list[str]:
    return [message for reason, message in rehearsal.events_of(workload) if reason == KUEUE_REFUSAL]


def borrowing(rehearsal: Rehearsal, work: Work) -> Outcome:
    """Submits work, waits for Kueue's answer, and says what its queue has borrowed then."""
    seen = admission(rehearsal, work)
    if seen.verdict != "admitted":
        return seen
    rows: list[Object] = []

    def counted() -> bool:
        """A queue's status follows a moment after what it admits."""
        nonlocal rows
        status = rehearsal.client.get(KUEUE_API, "ClusterQueue", work.queue.name).get("status", {})
        usage = (each["resources"] for each in status.get("flavorsReservation", ()) if each["name"] == seen.flavor)
        rows = next(usage, [])
        wanted = work.request.total.get(CPU, 0)
        return any(row["name"] == CPU and parse_quantity(str(row["total"])) * 1000 >= wanted for row in rows)

    rehearsal.until(f"status of queue {work.queue.name}", counted, rehearsal.timeouts.admission_s)
    amounts = ((row["name"], str(row.get("borrowed", "0"))) for row in rows)
    return replace(seen, borrowed=tuple((name, amount) for name, amount in amounts if amount != "0"))


def _flavor(workload: Object) -> str:
    """The flavor that all of its resources got; several are joined, and agree with no expectation."""
    assigned = workload["status"]["admission"]["podSetAssignments"]
    return "+".join(sorted({flavor for each in assigned for flavor in each.get("flavors", {}).values()}))


def placed(rehearsal: Rehearsal, made: Object, work: Work, decided: Outcome) -> Outcome:
    """Where the pods of an admitted Job went, or who keeps them from a node."""
    refusal = ""
    pods: list[Object] = []
    # Nodes of a static pool are there: what the scheduler says of them is the last word.
    static = any(pool.is_static for pool in rehearsal.cluster.pools if pool.name == decided.flavor)

    def settled() -> bool:
        nonlocal pods, refusal
        pods = rehearsal.pods_of(made)
        if len(pods) < work.request.pods:
            return False
        waiting = [pod for pod in pods if not pod["spec"].get("nodeName")]
        if not waiting:
            return work.holds or all(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods)
        refusal = _refusal(rehearsal, waiting[0], static)
        return bool(refusal)

    what = f"nodes for {made['metadata']['name']}"
    rehearsal.until(what, settled, rehearsal.timeouts.node_s)
    if refusal:
        return replace(decided, verdict="pending", by="scheduler" if static else "Karpenter", words=refusal)
    if not work.holds:
        rehearsal.client.wait_for(
            "batch/v1",
            "Job",
            made["metadata"]["name"],
            lambda each: condition(each, "Complete").get("status") == "True",
            rehearsal.timeouts.completion_s,
            made["metadata"]["namespace"],
        )
    names = {pod["spec"]["nodeName"] for pod in pods}
    labels = [node["metadata"]["labels"] for node in rehearsal.nodes() if node["metadata"]["name"] in names]
    return replace(
        decided,
        verdict="bound" if work.holds else "complete",
        pool="+".join(sorted({each[POOL_LABEL] for each in labels})),
        instance_types=tuple(sorted({each[INSTANCE_TYPE_LABEL] for each in labels})),
        nodes=len(names),
    )


def _refusal(rehearsal: Rehearsal, pod: Object, static: bool) -> str:
    """The scheduler's words about nodes that are there, else Karpenter's; empty until they have spoken."""
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("reason") != "Unschedulable":
        return ""
    if static:
        return str(scheduled.get("message", ""))
    for reason, message in rehearsal.events_of(pod):
        if reason == KARPENTER_REFUSAL and message.startswith(KARPENTER_WORDS):
            return message
    return ""
