"""Creates the Jobs of test cases, which every policy allows, and finds their outcomes in the control plane."""

import hashlib
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts, amount, texts
from gpuc.kubernetes.kueue import LEVEL_LABELS, PRIORITY_LABEL, QUEUE_LABEL, REQUIRED_TOPOLOGY
from gpuc.model import Cluster, ClusterQueue, Namespace
from gpuc.model.names import EFA, PLACEHOLDER_REGISTRY, POOL_LABEL
from gpuc.trace.steps import Component
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.client import Object, WaitError, condition, is_true, new_object
from gpuc_rehearsal.context import CLUSTER_QUEUE, HOLD, RehearsalContext
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.sample_namespaces import LABEL
from gpuc_rehearsal.sample_workloads import CONTAINER_SECURITY, REPLACE_FAILED, security_context
from gpuc_rehearsal.suites import NODES_BATCH, Case

SMALL: Amounts = {CPU: 100, MEMORY: 256 * MIB, EPHEMERAL_STORAGE: 64 * MIB}
"""Requests of a pod for cpu, memory and ephemeral storage if the test case tests another resource."""
NO_CONTROLLER = LABEL
"""spec.managedBy of Jobs without pods: no controller has this name. Kueue decides about a Job before it has pods."""
KUEUE_REFUSAL = "Pending"
"""Reason of Kueue's events about a Workload that Kueue does not admit."""
EVENT_SECONDS = 5
"""Maximum wait for Kueue's events after the condition. Kueue sends no event about a queue that does not exist."""


class Work(Struct, frozen=True):
    """A Job that a test case submits: its queue, its request and its priority."""

    name: str
    """Unique description of the Job. The object's name is a hash of it."""
    queue: ClusterQueue
    request: Request
    priority: str = ""
    """Name of the priority; empty for the default."""
    keeps_running: bool = False
    """Whether the pods run until their deletion. Otherwise the pods complete immediately."""
    without_pods: bool = False
    """Whether no controller creates pods for the Job."""


def job_of(cluster: Cluster, work: Work) -> Object:
    """Returns the Job of a Work, in a namespace that may use the queue. For EFA, the namespace has an NCCL profile."""
    namespaces = [namespace for _, namespace in cluster.namespaces if work.queue.name in namespace.local_queues]
    namespace = min(namespaces, key=lambda found: (found.nccl is not None) != (EFA in work.request.pod))
    request = work.request
    labels = {QUEUE_LABEL: work.queue.name} | ({PRIORITY_LABEL: work.priority} if work.priority else {})
    annotations = dict(HOLD) if work.keeps_running else {}
    if request.one_block:
        annotations[REQUIRED_TOPOLOGY] = block_label(work.queue, request)
    spec = {
        "parallelism": request.pods,
        "completions": request.pods,
        "backoffLimit": 0,
        **REPLACE_FAILED,
        **({"managedBy": NO_CONTROLLER} if work.without_pods else {}),
        "template": {"metadata": {"annotations": annotations}, "spec": _pod(cluster, namespace, request)},
    }
    return new_object("batch/v1", "Job", object_name(work.name), namespace.name, metadata={"labels": labels}, spec=spec)


def block_label(queue: ClusterQueue, request: Request) -> str:
    """Returns the key of the node label that names the block of the network topology, for the pool of a request."""
    labels = [pool.level_labels for pool in queue.pools if request.pool in ("", pool.name)]
    return next((found["block"] for found in labels if "block" in found), LEVEL_LABELS["block"])


def object_name(name: str) -> str:
    """Returns a short name for the object of a test case: "case-" and a hash of the name of the test case."""
    return f"case-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _pod(cluster: Cluster, namespace: Namespace, request: Request) -> Object:
    quantities, registries = texts(request.pod), cluster.policy_settings("images").get("registries")
    container: Object = {
        "name": "work",
        "image": f"{(registries or [PLACEHOLDER_REGISTRY])[0]}case:1",
        "resources": {"requests": quantities, "limits": dict(quantities)},
        "securityContext": deepcopy(CONTAINER_SECURITY),
    }
    if EFA in request.pod and namespace.nccl:
        container["envFrom"] = [{"configMapRef": {"name": namespace.nccl.config_map}}]
    pool = next((pool for pool in cluster.pools if pool.name == request.pool), None)
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": security_context(pool),
        "containers": [container],
        **({"nodeSelector": {POOL_LABEL: request.pool}} if request.pool else {}),
    }


def submit(context: RehearsalContext, work: Work) -> Object:
    """Creates a Job. Raises ApiError if the Job is refused."""
    return context.client.create(job_of(context.cluster, work))


def admission(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job, waits, and returns the decision of Kueue: admitted with a ResourceFlavor, or refused."""
    return kueue_decision(context, submit(context, work))


def run(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job, waits until the Job is complete, refused or pending, and returns this outcome.

    If the Job never ends by itself, the function waits only until all pods have nodes.
    """
    submitted = submit(context, work)
    decision = kueue_decision(context, submitted)
    return placed(context, submitted, work, decision) if decision.verdict == "admitted" else decision


def job_case(
    suite: str,
    work: Work,
    description: str,
    origin: Path,
    expected: Outcome,
    batch: str = NODES_BATCH,
    observe: Callable[..., Outcome] = run,
) -> Case:
    """Returns a test case that submits one Job.

    Args:
        description: the request in words. The name of the test case is "QUEUE POOL DESCRIPTION".
        observe: a function with the arguments context and work, which submits the Job and returns the outcome.
    """
    queue, pool = work.queue.name, work.request.pool
    name = f"{queue} {pool} {description}"
    action = partial(observe, work=replace(work, name=f"{suite} {name}"))
    return Case(suite, name, origin, expected, action, queue, pool, description, batch, work.request)


def kueue_decision(context: RehearsalContext, job: Object) -> Outcome:
    """Waits for Kueue's decision about a Job, and returns it: admitted with a flavor, or refused with a message."""

    def decided() -> Object | None:
        workload = context.workload_of(job) or {}
        return workload if is_true(workload, "Admitted") or condition(workload, "QuotaReserved") else None

    description = f"Kueue's decision about Job {job['metadata']['name']}"
    workload = context.until(description, decided, context.timeouts.admission_s)
    if not is_true(workload, "QuotaReserved"):
        return Outcome("refused", by="Kueue", message=_reasons(context, workload))
    return Outcome("admitted", flavor=flavor_of(workload))


def _reasons(context: RehearsalContext, workload: Object) -> str:
    """Returns all messages about a Workload: Kueue replaces the message of the condition with every new attempt."""
    message = str(condition(workload, "QuotaReserved").get("message", ""))

    def refusals() -> list[str]:
        return [message for reason, message in context.events_of(workload) if reason == KUEUE_REFUSAL]

    try:
        context.until("Kueue's events", refusals, EVENT_SECONDS)
    except WaitError:
        if not message:
            raise
    return "; ".join(dict.fromkeys([message, *refusals()]))


def borrowed_amounts(context: RehearsalContext, work: Work) -> Outcome:
    """Submits a Job. Returns the decision of Kueue, and how much the ClusterQueue borrows after the admission."""
    actual = admission(context, work)
    if actual.verdict != "admitted":
        return actual

    def updated() -> list[Object] | None:
        # Kueue updates the status shortly after the admission; before, it can have the resources of a deleted Workload.
        status = context.client.get(*CLUSTER_QUEUE, work.queue.name).get("status", {})
        flavors = status.get("flavorsReservation", ())
        rows: list[Object] = next((row["resources"] for row in flavors if row["name"] == actual.flavor), [])
        totals = {row["name"]: amount(row["name"], row["total"]) or 0 for row in rows}
        return rows if all(totals.get(name, 0) >= size for name, size in work.request.total.items()) else None

    rows = context.until(f"status of ClusterQueue {work.queue.name}", updated, context.timeouts.admission_s)
    borrowed = ((row["name"], str(row.get("borrowed", "0"))) for row in rows)
    return replace(actual, borrowed=tuple((name, quantity) for name, quantity in borrowed if quantity != "0"))


def flavor_of(*workloads: Object) -> str:
    """Returns the ResourceFlavor that Kueue assigned to the Workloads. Several names are joined with "+"."""
    assigned = (row for workload in workloads for row in workload["status"]["admission"]["podSetAssignments"])
    return "+".join(sorted({flavor for pod_set in assigned for flavor in pod_set.get("flavors", {}).values()}))


def placed(context: RehearsalContext, job: Object, work: Work, decision: Outcome) -> Outcome:
    """Waits until the pods of an admitted Job have nodes or are complete, or until it is clear why they stay pending.

    Returns Kueue's decision with the nodes of the pods, or "pending" with the message of the scheduler or autoscaler.
    """
    # The nodes of a static pool exist already, so a message of the scheduler that lasts is final.
    is_static = any(pool.is_static for pool in context.cluster.pools if pool.name == decision.flavor)
    refused_at: list[float] = []

    def settled() -> tuple[list[Object], str] | None:
        pods = context.pods_of(job)
        if len(pods) < work.request.pods:
            return None
        if waiting := [pod for pod in pods if not pod["spec"].get("nodeName")]:
            if refusal := scheduling_refusal(context, waiting[0], is_static):
                refused_at.append(time.monotonic())
            is_final = refusal and (not is_static or refused_at[-1] - refused_at[0] >= context.timeouts.retry_s)
            return (pods, refusal) if is_final else None
        is_done = work.keeps_running or all(pod.get("status", {}).get("phase") == "Succeeded" for pod in pods)
        return (pods, "") if is_done else None

    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    pods, refusal = context.until(f"nodes for Job {name}", settled, context.timeouts.node_s)
    if refusal:
        return replace(decision, verdict="pending", by=decider(context.cluster, is_static), message=refusal)
    if not work.keeps_running:
        is_complete = partial(is_true, kind="Complete")
        context.client.wait_for("batch/v1", "Job", name, is_complete, context.timeouts.completion_s, namespace)
    return replace(
        decision,
        verdict="bound" if work.keeps_running else "complete",
        pool=context.pools_of(pods),
        instance_types=context.types_of(pods),
        nodes=len({pod["spec"]["nodeName"] for pod in pods}),
    )


def scheduling_refusal(context: RehearsalContext, pod: Object, is_static: bool) -> str:
    """Returns the message that a pod fits on no node, of the scheduler (static pool) or autoscaler; "" if none yet."""
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("reason") != "Unschedulable":
        return ""
    if is_static:
        return str(scheduled.get("message", ""))
    autoscaler = autoscaler_of(context.cluster)
    reason, start = autoscaler.refusal if autoscaler else ("", "")
    refusals = (message for name, message in context.events_of(pod) if name == reason and message.startswith(start))
    return next(refusals, "")


def decider(cluster: Cluster, is_static: bool) -> Component:
    """Returns who reports that a pod gets no node: the scheduler for a static pool, else the autoscaler."""
    autoscaler = None if is_static else autoscaler_of(cluster)
    return autoscaler.name if autoscaler else "scheduler"
