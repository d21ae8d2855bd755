"""Checks of Kueue: the LocalQueue, the priority class, the ClusterQueue, the flavors, the quota and the start."""

from functools import partial

from gpuc.cluster.queue import GROUPS, Member, cluster_queue, inactive_reason
from gpuc.kubernetes.amounts import Amounts, amounts, described
from gpuc.kubernetes.flavor import Choice
from gpuc.kubernetes.kueue import GROUP, PODSET_LABEL, PRIORITY_LABEL, QUEUE_LABEL
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.objects.selectors import selector
from gpuc.trace import advice
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.flavors import refusal_location
from gpuc.trace.kueue_scope import queue_of
from gpuc.trace.steps import Stage, Step, Steps, all_failures
from gpuc.trace.workload import PodSet, Workload

_STOPPED = ("Hold", "HoldAndDrain")
_STANDARD = ("kubernetes.io/", "pod-security.kubernetes.io/")
"""The prefixes of the labels of namespaces that messages do not show."""
_SYSTEM = "system-"
"""The prefix of the PriorityClasses that every cluster has."""
_LOCAL_QUEUE_LABEL, _CLUSTER_QUEUE_LABEL = "kueue.x-k8s.io/local-queue-name", "kueue.x-k8s.io/cluster-queue-name"
_WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"


def local_queue(cluster: ClusterIndex, workload: Workload) -> Manifest | None:
    """Returns the LocalQueue of a workload; None if the input does not have the LocalQueue."""
    return cluster.objects.find(GROUP, "LocalQueue", queue_of(cluster, workload), workload.namespace)


def local_queue_step(cluster: ClusterIndex, workload: Workload, local: Manifest | None) -> Step:
    """Checks that the LocalQueue exists, and that its stopPolicy does not stop it."""
    fix = advice.for_local_queue(cluster, workload)
    if not queue_of(cluster, workload):
        message = f"the workload has no label {QUEUE_LABEL}, so Kueue suspends the workload forever"
        return Step(Stage.LOCAL_QUEUE, "failed", message, fix=fix)
    if local is None:
        message = f"namespace {workload.namespace or '(none)'} has no LocalQueue {queue_of(cluster, workload)}"
        return Step(Stage.LOCAL_QUEUE, "failed", message, fix=fix)
    stopped = dig(local.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return Step(Stage.LOCAL_QUEUE, "failed", f"{local} has stopPolicy {stopped}", local, ("spec", "stopPolicy"))
    message = f"{local} uses ClusterQueue {cluster_queue(local)}"
    return Step(Stage.LOCAL_QUEUE, "passed", message, local, ("spec", "clusterQueue"))


def priority_steps(cluster: ClusterIndex, workload: Workload) -> Steps:
    """Checks that the priority class of a workload exists; yields nothing for a workload without a priority class.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go, prepareWorkload
    """
    if workload.priority:
        kind = "WorkloadPriorityClass"
        if cluster.objects.find(GROUP, kind, workload.priority) is None:
            known = [priority_class.name for priority_class in cluster.objects.of(GROUP, kind)]
            is_known = bool(known) or cluster.objects.is_complete
            message = f"{kind} {workload.priority} {'does not exist' if is_known else 'is not in the input'}"
            fix = advice.for_name(f"the label {PRIORITY_LABEL}", workload.priority, known)
            yield Step(Stage.PRIORITY, "failed" if is_known else "unknown", message, fix=fix)
        return
    for pods in workload.pod_sets:
        name = dig(pods.pod, "priorityClassName")
        if not isinstance(name, str) or name.startswith(_SYSTEM):
            continue
        if cluster.objects.find("scheduling.k8s.io", "PriorityClass", name) is None:
            message = f"PriorityClass {name} is not in the input; if it does not exist, the API server rejects the pods"
            yield Step(Stage.PRIORITY, "unknown", message, pods=pods.name)


def cluster_queue_step(cluster: ClusterIndex, workload: Workload, queue: Member) -> Step:
    """Checks that the ClusterQueue is active, and that it accepts workloads of the namespace.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason
    """
    manifest, path = queue.manifest, ("spec", "namespaceSelector")
    labels = cluster.objects.namespaces.get(workload.namespace)
    step = partial(Step, Stage.CLUSTER_QUEUE, manifest=manifest)
    if (stopped := queue.setting("stopPolicy")) in _STOPPED:
        return step("failed", f"{manifest} has stopPolicy {stopped}", path=("spec", "stopPolicy"))
    if reason := inactive_reason(cluster.objects, queue):
        return step("failed", f"{reason[0]}, so {manifest} is inactive", path=reason[1])
    if labels is None:
        message = f"{manifest} is active; the labels of namespace {workload.namespace} are unknown"
        return step("unknown", message, path=path)
    if not matches(selector(queue.setting("namespaceSelector")), labels):
        shown = ", ".join(f"{key}={value}" for key, value in labels.items() if not key.startswith(_STANDARD))
        namespace = f"namespace {workload.namespace} ({shown or 'no labels'})"
        return step("failed", f"the namespaceSelector of {manifest} does not match {namespace}", path=path)
    return step("passed", f"{manifest} is active and accepts namespace {workload.namespace}", path=path)


def request_steps(workload: Workload, pods: PodSet) -> Steps:
    """Yields a failed check for each container whose requests, as Kueue counts them, exceed its limits.

    Kueue sets missing requests to the defaults of a LimitRange, also if the container has smaller limits. The API
    server would set them to the limits. The default limits of a LimitRange can also be below the requests.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/workload/resources.go (AdjustResources, ValidateResources)
    """
    for part in ("initContainers", "containers"):
        for index, container in items(dig(pods.pod, part)):
            requests, limits = (amounts(dig(container, "resources", name)) for name in ("requests", "limits"))
            if larger := [name for name, count in requests.items() if count > limits.get(name, count)]:
                names, field = " and ".join(larger), (*pods.path, "spec", part, index, "resources")
                message = f"Kueue counts requests of {names} above the limits of container {dig(container, 'name')}"
                reason = "Kueue takes the default requests of a LimitRange, which exceed the limits of the pods."
                fix = f"write requests of {names} for the container"
                if dig(workload.document, *field, "requests", larger[0]) is not None:
                    reason = "The default limits of a LimitRange are below the requests of the pods."
                    fix = f"request at most {described({name: limits[name] for name in larger})}, or write limits"
                yield Step(Stage.RESOURCES, "failed", message, pods=pods.name, fix=fix, field=field, reason=reason)


def quota_steps(cluster: ClusterIndex, queue: Member, pods: PodSet, requests: Amounts, choice: Choice) -> Steps:
    """Checks that the ClusterQueue covers the resources, that a flavor fits the pods, and that the quota is enough.

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
    flavor, path = manifest, groups
    chosen = [attempt for attempt in choice.attempts if attempt.flavor in choice.names and not attempt.refused_by]
    if chosen:
        flavor, path = cluster.flavors[chosen[0].flavor].manifest, refusal_location(cluster, queue, pods, chosen[0])[1]
    names = ", ".join(choice.names)
    message = f"Kueue chooses flavor {names}" if names else "the pods request no resources"
    yield Step(Stage.FLAVOR, "passed", message, flavor, ("spec",), pods.name)
    message = f"the nominal quota of {manifest} is large enough"
    if choice.borrowed:
        message = f"{manifest} borrows {described(choice.borrowed)} from its cohort"
    yield Step(Stage.QUOTA, "passed", message, manifest, path, pods.name)


def start_steps(workload: Workload, local: Manifest, queue: Member) -> Steps:
    """Yields a failed check for each label or annotation that Kueue sets, but that has another value in a pod template.

    When Kueue starts a workload with such a conflict, Kueue ends the workload (reason FailedToStart).

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go (getPodSetsInfoFromStatus,
    startJob), pkg/podset/podset.go (Merge, IsPermanent)
    """
    sets = workload.pod_sets
    yield from all_failures(step for pods in sets for step in _conflicts(workload, pods, local, queue))


def _conflicts(workload: Workload, pods: PodSet, local: Manifest, queue: Member) -> Steps:
    set_labels = {_LOCAL_QUEUE_LABEL: local.name, _CLUSTER_QUEUE_LABEL: queue.name, PODSET_LABEL: pods.name}
    if workload.record.queueing.is_pod_group:
        del set_labels[PODSET_LABEL]
    wrong = [
        ("label", key, f"to {value}; the pods have {pods.labels[key]}")
        for key, value in set_labels.items()
        if pods.labels.get(key, value) != value
    ]
    if _WORKLOAD_ANNOTATION in pods.annotations:
        wrong.append(("annotation", _WORKLOAD_ANNOTATION, "to the name of a new Workload; the pods have another value"))
    for kind, key, values in wrong:
        message = f"Kueue cannot start the pods: Kueue sets the {kind} {key} {values}"
        field = (*pods.path, "metadata", f"{kind}s", key)
        yield Step(Stage.START, "failed", message, pods=pods.name, fix=f"remove {kind} {key}", field=field)
