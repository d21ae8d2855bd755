"""Decides from Kueue's configuration whether Kueue manages a workload: by the kind and the namespace."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from gpuc.admission.documents import in_namespace
from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.namespace import namespaces
from gpuc.cluster.pool_parts import pool_parts
from gpuc.kubernetes.amounts import CPU, amount, described
from gpuc.kubernetes.kueue import BATCH_JOB, GROUP, POD, QUEUE_LABEL
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import POOL_CLASS
from gpuc.objects.embedded import document
from gpuc.objects.object_set import NAMESPACE_NAME, dig, items, pairs
from gpuc.objects.selectors import selector
from gpuc.parts.workload_kinds import frameworks, pod_frameworks, spec_frameworks, workload_kind
from gpuc.trace import advice
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.nodes import PodDemand, matching_pools
from gpuc.trace.steps import NO_KUEUE
from gpuc.trace.workload import Workload

_API = "config.kueue.x-k8s.io"
_VALUES_PATH = ("kueue", "managerConfig", "controllerManagerConfigYaml")
_DEFAULT_QUEUE = "default"
"""The LocalQueue that Kueue uses for a workload without a queue name, if the namespace has this LocalQueue.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/defaults.go
"""
_EXCLUDED = "managedJobsNamespaceSelector of Kueue excludes"
_WITHOUT_KUEUE = ("kube-system", "kueue-system")
"""The namespaces that Kueue excludes by default.

Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go
"""
_GPU_PREFIXES = ("nvidia.com/", "amd.com/")


def how_to_manage(cluster: ClusterIndex, reason: str, workload: Workload) -> str:
    """Returns a fix: the change after which Kueue manages the workload.

    Args:
        reason: the result of why_unmanaged.
    """
    if workload.record.traits.elsewhere(workload.document):
        return ""
    if reason.startswith(_EXCLUDED):
        return advice.for_local_queue(cluster, workload)
    label = f"set the label {QUEUE_LABEL} to the name of a LocalQueue"
    queued = {queue.namespace for queue in cluster.objects.of(GROUP, "LocalQueue")}
    if queued and workload.namespace not in queued:
        label = f"{advice.for_local_queue(cluster, workload)} (namespace {workload.namespace} has none)"
    if QUEUE_LABEL in reason:
        return label
    name, is_spec = workload.record.queueing.framework, cluster.objects.is_complete
    if name not in (spec_frameworks() if is_spec else frameworks()):
        return "use a kind that Kueue manages"
    change = f"add {name} to {'kueue.frameworks of the spec' if is_spec else 'integrations.frameworks of Kueue'}"
    return change if queue_of(cluster, workload) else f"{change}, and {label}"


def queue_of(cluster: ClusterIndex, workload: Workload) -> str:
    """Returns the name of a workload's LocalQueue; an empty string if the workload has no LocalQueue."""
    has_default = cluster.objects.find(GROUP, "LocalQueue", _DEFAULT_QUEUE, workload.namespace) is not None
    return workload.queue or (_DEFAULT_QUEUE if has_default else "")


def manages(cluster: ClusterIndex, api_group: str, kind: str) -> bool:
    """Returns whether Kueue manages a kind. If the input has no configuration of Kueue, the result is True.

    The list externalFrameworks of the configuration has kinds in the form Kind.version.group.
    """
    configuration, own = _configuration(cluster), workload_kind(api_group, kind).queueing.framework
    external = (str(name) for _, name in items(dig(configuration, "integrations", "externalFrameworks")))
    is_external = any(name.startswith(f"{kind}.") and name.endswith(f".{api_group}") for name in external)
    return configuration is None or is_external or own in _frameworks(configuration)


def has_elastic_jobs(cluster: ClusterIndex) -> bool:
    """Returns whether Kueue supports elastic jobs: jobs that change their number of pods. The default is True.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/features/kube_features.go, pkg/workloadslicing/workloadslicing.go
    """
    return dig(_configuration(cluster), "featureGates", "ElasticJobsViaWorkloadSlices") is not False


def why_gated(cluster: ClusterIndex, workload: Workload) -> tuple[str, str]:
    """Returns the reason why Kueue's scheduling gate holds the pods of a workload forever, and a fix; otherwise empty.

    Kueue's integration of pods gates all pods with a queue name. With manageJobsWithoutQueueName, Kueue also gates the
    pods without a queue name, and never removes the gates.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/pod: pod_webhook.go, Default; pod_controller.go, Skip
    """
    configuration = _configuration(cluster)
    enabling = [name for name in _frameworks(configuration) if name in pod_frameworks()]
    is_selected = not _excluded(cluster, configuration, workload)
    if configuration is None or not enabling or manages(cluster, workload.api_group, workload.kind) or not is_selected:
        return "", ""
    if queue_of(cluster, workload):
        if workload.record.queueing.framework != POD:
            return "", ""
        reason = f"Kueue gates the pod because of framework {', '.join(enabling)}, but does not admit plain pods"
        place = "kueue.frameworks of the spec" if cluster.objects.is_complete else "integrations.frameworks of Kueue"
        return reason, f"add pod to {place}"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return "", ""
    reason = f"framework {', '.join(enabling)} and manageJobsWithoutQueueName: true make Kueue gate every pod"
    name = workload.record.queueing.framework
    fix = f"add {name} to kueue.frameworks of the spec, and set the label {QUEUE_LABEL}"
    if not cluster.objects.is_complete or name not in spec_frameworks():
        fix = f"set the label {QUEUE_LABEL} to the name of a LocalQueue"
    return f"the pods have no label {QUEUE_LABEL}; {reason}", fix


def is_gated(cluster: ClusterIndex, workload: Workload) -> bool:
    """Returns whether Kueue's webhook adds its scheduling gate to the pods of a workload when they are created.

    Kueue uses the gate for pods of Pods and servers. For jobs, Kueue uses spec.suspend instead, so the pods are created
    after Kueue admits the job.
    """
    is_held = workload.record.queueing.holds_pods and not why_unmanaged(cluster, workload)
    return is_held or bool(why_gated(cluster, workload)[0])


def why_unmanaged(cluster: ClusterIndex, workload: Workload) -> str:
    """Returns the reason why Kueue does not manage a workload; an empty string if Kueue manages the workload.

    If Kueue does not manage a workload, its pods go directly to the scheduler.

    If the input has no configuration of Kueue, gpuc assumes that Kueue manages workloads of all kinds that have a queue
    name. If the input is a complete cluster without Kueue, nothing manages workloads.

    The selector managedJobsNamespaceSelector can exclude a namespace. Kueue then manages no workload in this namespace,
    not even a workload with a queue name.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/defaults.go; pkg/controller/jobframework/reconciler.go,
    ReconcileGenericJob; pkg/controller/jobs/pod/pod_webhook.go, Default; pkg/features/kube_features.go
    """
    configuration = _configuration(cluster)
    if configuration is None and cluster.objects.is_complete and not cluster.objects.of(GROUP, "ClusterQueue"):
        return NO_KUEUE
    if not manages(cluster, workload.api_group, workload.kind):
        known = ", ".join(_frameworks(configuration))
        return f"Kueue does not manage kind {workload.kind}; Kueue's integrations.frameworks are {known}"
    if _excluded(cluster, configuration, workload):
        return f"{_EXCLUDED} namespace {workload.namespace}"
    elsewhere = workload.record.traits.elsewhere(workload.document)
    if elsewhere or queue_of(cluster, workload):
        return f"{elsewhere}, so Kueue does not manage the {workload.kind}" if elsewhere else ""
    if configuration is None:
        return f"the workload has no label {QUEUE_LABEL}, and by default Kueue ignores such workloads"
    if dig(configuration, "manageJobsWithoutQueueName") is not True:
        return f"the workload has no label {QUEUE_LABEL}, and manageJobsWithoutQueueName is not true"
    return ""


def is_perhaps_suspended(cluster: ClusterIndex, workload: Workload) -> bool:
    """Returns whether Kueue's webhook may suspend a workload in a namespace that Kueue does not manage.

    The webhooks for jobs and servers hold every object with a queue name. The Helm chart limits these webhooks to the
    namespaces of managedJobsNamespaceSelector. Other installations have the webhooks in all namespaces. There the
    webhook holds the workload, and nothing starts the workload again. Only the webhook for pods reads
    managedJobsNamespaceSelector.

    Source: kubernetes-sigs/kueue v0.19.2 charts/kueue/templates/webhook/manifests.yaml; config/components/webhook;
    pkg/controller/jobframework/utils.go, WorkloadShouldBeSuspended
    """
    is_chart = isinstance(dig(cluster.objects.values, *_VALUES_PATH), str)
    is_excluded = manages(cluster, workload.api_group, workload.kind) and _excluded(
        cluster, _configuration(cluster), workload
    )
    has_webhook = workload.namespace not in _WITHOUT_KUEUE and workload.record.queueing.framework != POD
    return is_excluded and not is_chart and has_webhook and bool(workload.queue)


def _excluded(cluster: ClusterIndex, configuration: Any, workload: Workload) -> bool:
    """Returns whether managedJobsNamespaceSelector excludes the namespace.

    A namespace with unknown labels has no labels in a complete object set; otherwise it is not excluded.
    """
    raw = dig(configuration, "managedJobsNamespaceSelector")
    if raw is None:
        return workload.namespace in _WITHOUT_KUEUE
    labels = namespaces(cluster.objects).known_labels(workload.namespace)
    is_known = labels is not None or cluster.objects.is_complete
    return is_known and not matches(selector(raw), {NAMESPACE_NAME: workload.namespace, **(labels or {})})


def _frameworks(configuration: Any) -> list[str]:
    return [str(name) for _, name in items(dig(configuration, "integrations", "frameworks"))] or [BATCH_JOB]


@lru_cache(maxsize=1)
def _configuration(cluster: ClusterIndex) -> Any:
    """Returns the configuration of Kueue; None if the input does not have it or it is not YAML."""
    in_maps = (text for row in cluster.objects.of("", "ConfigMap") for _, text in pairs(row.body.get("data")))
    for text in (dig(cluster.objects.values, *_VALUES_PATH), *in_maps):
        parsed = document(cluster.objects, text) if isinstance(text, str) and _API in text else None
        if str(dig(parsed, "apiVersion")).startswith(_API) and dig(parsed, "kind") == "Configuration":
            return parsed
    return None


def counting_quota(
    cluster: ClusterIndex, workload: Workload, demands: Sequence[PodDemand]
) -> tuple[str, Manifest | None]:
    """Returns the ResourceQuota that limits a workload without Kueue: a text, and the object.

    The ResourceQuota counts the GPUs of the pods. For pods without GPUs, it counts pods with the PriorityClass of their
    node pool. The text is empty if no ResourceQuota counts the pods. It is also empty if Kueue counts a node pool of
    the pods, because Kueue then gives the same GPUs to queued workloads.
    """
    gpus, queued = set[str](), cluster.objects.once(FlavorCapacity).queued
    for demand in demands:
        names = {name for name, count in demand.pod.items() if count and name.startswith(_GPU_PREFIXES)}
        pools = matching_pools(cluster, demand)[0] if names else []
        if names and (not pools or any(match.pool.name in queued for match in pools)):
            return "", None
        gpus |= names
    if not gpus:
        return _counting_part(cluster, workload, demands)
    for quota in in_namespace(cluster.objects, "ResourceQuota", workload.namespace):
        spec = dig(quota.body, "spec")
        limits = {name: amount(name, dig(spec, "hard", f"requests.{name}")) for name in sorted(gpus)}
        hard = {name: most for name, most in limits.items() if most}
        # A ResourceQuota with scopes counts only some pods.
        if gpus == hard.keys() and not dig(spec, "scopes") and not dig(spec, "scopeSelector"):
            return f"ResourceQuota {quota.name} of namespace {workload.namespace}, hard {described(hard)}", quota
    return "", None


def _counting_part(
    cluster: ClusterIndex, workload: Workload, demands: Sequence[PodDemand]
) -> tuple[str, Manifest | None]:
    """Returns the ResourceQuota that counts the pods by their PriorityClass, if one node pool accepts all of them."""
    pools = {match.pool.of_spec for demand in demands for match in matching_pools(cluster, demand)[0]}
    classes = {dig(pods.pod, "priorityClassName") for pods in workload.pod_sets}
    for part in cluster.objects.once(pool_parts):
        is_own = part.quota.namespace == workload.namespace
        if is_own and classes == {f"{POOL_CLASS}{part.pool}"} and pools == {part.pool}:
            hard = described({CPU: part.cpu})
            return f"ResourceQuota {part.quota.name} of namespace {workload.namespace}, hard {hard}", part.quota
    return "", None
