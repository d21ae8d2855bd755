"""Traces a workload through admission, Kueue, the scheduler and Karpenter, without a cluster.

The trace assumes an empty cluster, in which no other workload uses quota or nodes, unless the caller gives the usage of
quota. So a workload that fails in a trace also fails in the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cluster.queue import GROUPS, Member, cluster_queue
from gpuc.kubernetes.amounts import Amounts, described
from gpuc.kubernetes.flavor import Choice
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.kubernetes.quota import NOTHING, Key, Usage
from gpuc.manifest.manifest import Manifest
from gpuc.objects.pod_resources import pod_requests
from gpuc.trace import advice
from gpuc.trace.admission_steps import limit_steps, object_steps, pod_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.counted import counting_quota
from gpuc.trace.flavors import choose, refusal_location
from gpuc.trace.kueue_scope import how_to_manage, is_perhaps_suspended, why_gated, why_unmanaged
from gpuc.trace.local_queue import cluster_queue_step, local_queue, local_queue_step, priority_steps
from gpuc.trace.node_steps import topology_steps, workload_node_steps
from gpuc.trace.nodes import PodDemand, pod_demand
from gpuc.trace.start import start_steps
from gpuc.trace.steps import NO_KUEUE, Placement, Stage, Step, TraceResult
from gpuc.trace.stopped import stopped_steps
from gpuc.trace.workload import PodSet, Workload, created_pods, queued_pods

_MAX_COPIES = 10_000
"""The maximum number of replicas for which the trace checks the quota."""


def trace_workload(
    cluster: ClusterIndex, workload: Workload, *, admission: bool = True, usage: Usage = NOTHING
) -> TraceResult:
    """Returns the steps of a workload from its creation to its nodes. The steps end with the first stage that fails.

    Args:
        admission: whether to check the creation of the object, its jobs and its pods, and the quota of all replicas of
            the object. Otherwise only LimitRanges and ResourceQuotas are checked.
        usage: the quota that other workloads use, by the nodes of `cluster.quotas`.
    """
    created = created_pods(cluster.objects, workload)
    result = TraceResult(requests={pods.name: pod_requests(pods.pod) for pods in created})
    for step in _steps(cluster, workload, created, admission, usage, result):
        result.steps.append(step)
        if step.failed and not step.has_next:
            break
    return result


def _steps(
    cluster: ClusterIndex,
    workload: Workload,
    created: list[PodSet],
    admission: bool,
    usage: Usage,
    result: TraceResult,
) -> Iterator[Step]:
    """Yields all steps in the order of the cluster. The caller stops at the first failed step.

    Args:
        created: the pod sets with the changes of the admission.
    """
    if workload.rejected:
        yield workload.rejected
    if admission:
        yield from object_steps(cluster, workload)
    if workload.autoscaler:
        yield Step(Stage.REPLICAS, "passed", workload.autoscaler)
    gated, fix = why_gated(cluster, workload)
    if gated:
        yield Step(Stage.LOCAL_QUEUE, "failed", gated, fix=fix)
    result.bypass = why_unmanaged(cluster, workload)
    yield from stopped_steps(workload, is_queued=not result.bypass)
    flavors_of: dict[str, list[Manifest]] = {}
    if result.bypass:
        yield from _bypass_steps(cluster, workload, created, result)
    else:
        yield from _kueue_steps(cluster, workload, usage, flavors_of, result)
    if admission:
        for pods in workload.pod_sets:
            yield from pod_steps(cluster, workload, pods, flavors_of.get(pods.name, []))
    yield from limit_steps(cluster, workload)
    if admission and workload.copies > 1 and not result.bypass:
        yield from _copies(cluster, workload, created, result)
    demands = [_demand(pods, flavors_of.get(pods.name, [])) for pods in created]
    sets = list(zip(workload.pod_sets, demands, strict=True))
    yield from workload_node_steps(cluster, workload, sets, result, workload.copies if admission else 1)


def _demand(pods: PodSet, flavors: list[Manifest]) -> PodDemand:
    return pod_demand(pods.pod, pods.count, pod_requests(pods.pod), flavors)


def _bypass_steps(
    cluster: ClusterIndex, workload: Workload, created: list[PodSet], result: TraceResult
) -> Iterator[Step]:
    """Yields the steps of a workload outside of Kueue, and adds the ResourceQuota that counts its GPUs to the result.

    Args:
        created: the pod sets with the changes of the admission.
    """
    if is_perhaps_suspended(cluster, workload):
        message = f"{result.bypass}; if Kueue's webhook selects the namespace, the workload stays suspended"
        yield Step(Stage.LOCAL_QUEUE, "unknown", message, fix=f"remove the label {QUEUE_LABEL}")
    demands = [_demand(pods, []) for pods in created]
    result.counted_by, quota = counting_quota(cluster, workload, demands)
    if result.counted_by:
        yield Step(Stage.LOCAL_QUEUE, "bypassed", f"{result.bypass}; the pods go directly to the scheduler")
        yield Step(Stage.NAMESPACE, "passed", f"counted by {result.counted_by}", quota, ("spec", "hard"))
        return
    if result.bypass == NO_KUEUE:
        yield Step(Stage.LOCAL_QUEUE, "bypassed", f"{NO_KUEUE}; the pods go directly to the scheduler")
        return
    message = f"{result.bypass}; the pods go to the scheduler without the node labels and tolerations of a flavor"
    yield Step(Stage.LOCAL_QUEUE, "bypassed", message, fix=how_to_manage(cluster, result.bypass, workload))


def _kueue_steps(
    cluster: ClusterIndex,
    workload: Workload,
    usage: Usage,
    flavors_of: dict[str, list[Manifest]],
    result: TraceResult,
) -> Iterator[Step]:
    """Yields the steps of the admission by Kueue, and adds the placements of the pod sets to the result.

    Args:
        flavors_of: the function adds the ResourceFlavors of every pod set.
    """
    local = local_queue(cluster, workload)
    yield local_queue_step(cluster, workload, local)
    assert local is not None, "a missing LocalQueue is a failed step, which ends the trace"
    yield from priority_steps(cluster, workload)
    queue = cluster.quotas.get(cluster_queue(local))
    if queue is None:
        name = cluster_queue(local)
        fix = advice.for_name(f"spec.clusterQueue of {local}", name, cluster.quotas)
        message = f"ClusterQueue {name} does not exist"
        yield Step(Stage.CLUSTER_QUEUE, "failed", message, local, ("spec", "clusterQueue"), fix=fix)
        return
    yield cluster_queue_step(cluster, workload, queue)
    used: dict[Key, int] = {}
    pod_sets = [(pods, pod_requests(pods.pod)) for pods in queued_pods(cluster.objects, workload)]
    for pods, requests in pod_sets:
        choice = choose(cluster, queue, pods, requests, used, usage)
        result.attempts[pods.name] = choice.attempts
        yield from admission_steps(cluster, queue, pods, requests, choice)
        result.placements[pods.name] = Placement(tuple(choice.names), choice.borrowed)
        flavors_of[pods.name] = [flavor for name in choice.names if (flavor := cluster.flavor(name)) is not None]
    for pods, requests in pod_sets:
        yield from topology_steps(cluster, pods, requests, flavors_of[pods.name], queue)
    yield from start_steps(workload, local, queue)


def _copies(cluster: ClusterIndex, workload: Workload, created: list[PodSet], result: TraceResult) -> Iterator[Step]:
    """Yields a failed step if the quota is too small for all replicas of an object; every replica is one workload.

    Writes the borrowed quota of all replicas to the placements of `result`.
    """
    local = local_queue(cluster, workload)
    queue = cluster.quotas.get(cluster_queue(local)) if local is not None else None
    if queue is None:
        return
    used: dict[Key, int] = {}
    for count in range(min(workload.copies, _MAX_COPIES)):
        choices = {pods.name: choose(cluster, queue, pods, pod_requests(pods.pod), used) for pods in created}
        for name, choice in choices.items():
            result.placements[name].borrowed = choice.borrowed
        if not all(choice.flavors for choice in choices.values()):
            message = f"only {count} of {workload.copies} replicas get quota at the same time"
            yield Step(Stage.QUOTA, "failed", message, queue.manifest, GROUPS, fix=f"run at most {count} replicas")
            return


def admission_steps(
    cluster: ClusterIndex, queue: Member, pods: PodSet, requests: Amounts, choice: Choice
) -> Iterator[Step]:
    """Checks that the queue covers the resources, that a flavor fits the pods, and that the quota is large enough.

    Args:
        requests: the requests of one pod.
        choice: the flavors that Kueue chooses for the pods.
    """
    manifest, groups = queue.manifest, GROUPS
    refused = [attempt for attempt in choice.attempts if attempt.refused_by]
    reasons = "; ".join(reason for attempt in refused for reason in attempt.reasons)
    uncovered = [attempt.reasons[0] for attempt in refused if attempt.refused_by == "resource"]
    if uncovered:
        fix = advice.for_resources(cluster, queue, (reason.split()[1] for reason in uncovered))
        yield Step(Stage.RESOURCES, "failed", "; ".join(uncovered), manifest, groups, pods.name, fix)
    message = f"{manifest} covers every requested resource"
    yield Step(Stage.RESOURCES, "passed", message, manifest, groups, pods.name)
    exceeded = [attempt for attempt in refused if attempt.refused_by == "quota"]
    if not choice.flavors and not exceeded and (refused or any(requests.values())):
        location = refusal_location(cluster, queue, pods, refused[0]) if refused else (manifest, groups)
        fix = advice.for_flavor(cluster, queue, pods, refused)
        yield Step(Stage.FLAVOR, "failed", reasons or f"{manifest} has no flavor", *location, pods.name, fix)
        return
    if exceeded and not choice.flavors:
        names = ", ".join(attempt.flavor for attempt in exceeded)
        location = refusal_location(cluster, queue, pods, exceeded[0])
        yield Step(Stage.FLAVOR, "passed", f"flavor {names} fits the pods", manifest, location[1][:-1], pods.name)
        fix = advice.for_quota(queue, requests, refused)
        yield Step(Stage.QUOTA, "failed", reasons, *location, pods.name, fix)
        return
    chosen = next(
        (attempt for attempt in choice.attempts if attempt.flavor in choice.names and not attempt.refused_by), None
    )
    flavor, path = manifest, groups
    if chosen is not None:
        flavor, path = cluster.flavor(chosen.flavor), refusal_location(cluster, queue, pods, chosen)[1]
    names = ", ".join(choice.names)
    message = f"Kueue chooses flavor {names}" if names else "the pods request no resources"
    yield Step(Stage.FLAVOR, "passed", message, flavor, ("spec",), pods.name)
    message = f"the nominal quota of {manifest} is large enough"
    if choice.borrowed:
        message = f"{manifest} borrows {described(choice.borrowed)} from its cohort"
    yield Step(Stage.QUOTA, "passed", message, manifest, path, pods.name)
