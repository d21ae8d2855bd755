"""Kueue: its Helm values, and all objects that Kueue reads."""

from collections.abc import Iterator

from gpuc.components.kueue.alerts import queue_alerts, queue_records
from gpuc.components.kueue.objects import queue_objects, shared_objects
from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.block import block_yaml
from gpuc.kubernetes.kueue import GROUP, VISIBILITY
from gpuc.manifest.manifest import Artifact, Body, RunsOn, Values
from gpuc.model import Cluster, PoolQuota, Queue
from gpuc.model.names import TENANT_KEY
from gpuc.model.time_limits import manages_pods, pods_ready_minutes
from gpuc.model.units import quota_text
from gpuc.objects.object_set import dig, items
from gpuc.spec.queues import Limit

NAMES = "policies name the ServiceAccount kueue-controller-manager, and the ServiceMonitor names the Service"
"""The reason for the names of the chart's objects."""
CONFIGURATION: Path = ("managerConfig", "controllerManagerConfigYaml")
"""The path of the configuration in the values of the chart.

Source: kueue v0.19.2 charts/kueue/values.yaml
"""
RETENTION = "168h"
"""How long Kueue keeps finished Workloads. Without a limit they fill etcd."""


def kueue(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of Kueue, and all its cluster-scoped objects."""
    yield _values(cluster)
    yield from shared_objects(cluster)
    for queue in cluster.queues:
        yield from queue_objects(cluster, queue)


def _values(cluster: Cluster) -> Values:
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"control-plane": "controller-manager"}},
    }
    configuration = _configuration(cluster)
    text = block_yaml(configuration)
    body: Body = {
        # Prometheus would not select the ServiceMonitor of the chart, which has no labels. gpuc emits its own
        # ServiceMonitor in monitoring/.
        "enablePrometheus": False,
        # The chart creates a RoleBinding in kube-system. The visibility server needs this RoleBinding to start, because
        # it reads the CA of the API server.
        "enableVisibilityAuthReaderRoleBinding": True,
        "controllerManager": {
            "replicas": 2,
            "tolerations": parts.SYSTEM_TOLERATIONS,
            "manager": {"priorityClassName": "system-cluster-critical"},
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
            "topologySpreadConstraints": [spread],
        },
        "managerConfig": {"controllerManagerConfigYaml": text},
    }
    pods: dict[Path, RunsOn] = {("controllerManager",): "system nodes"}
    return Values(cluster.values_file("kueue"), ("spec", "kueue"), "kueue", body, {text: configuration}, pods=pods)


def _configuration(cluster: Cluster) -> Body:
    """Returns the complete configuration of the controller: a configuration replaces all defaults of the chart."""
    fair: Body = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {
            "groupKindConcurrency": {
                "Job.batch": 5,
                "Pod": 5,
                "Workload.kueue.x-k8s.io": 10,
                "LocalQueue.kueue.x-k8s.io": 5,
                "ClusterQueue.kueue.x-k8s.io": 5,
                "ResourceFlavor.kueue.x-k8s.io": 1,
            }
        },
        "clientConnection": {"qps": 300, "burst": 500},
        "waitForPodsReady": _wait_for_pods_ready(cluster),
        # Kueue suspends all jobs in tenant namespaces until they have a queue. The selector exempts the platform. If
        # Kueue manages pods, it would also keep every pod without a queue from starting (kubernetes-sigs/kueue v0.19.2
        # pkg/controller/jobs/pod/pod_webhook.go). The policy queue-required then demands the queue.
        "manageJobsWithoutQueueName": not manages_pods(cluster),
        "managedJobsNamespaceSelector": {"matchExpressions": [{"key": TENANT_KEY, "operator": "Exists"}]},
        "integrations": {"frameworks": list(cluster.frameworks)},
        # A member could make a Job elastic with an annotation, and add pods without a change of the Workload.
        # Source: kubernetes-sigs/kueue v0.19.2 pkg/features/kube_features.go (on by default), pkg/controller/jobs/job
        # The succeeded Jobs of a JobSet run again if the JobSet restarts. With ReclaimablePods, Kueue would not count
        # their pods any more, and could not evict the JobSet, because its webhook refuses a smaller count. Without it,
        # the quota of finished pods stays in use until the last pod of the run has finished.
        # Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/jobset/jobset_controller.go (ReclaimablePods),
        # pkg/webhooks/workload_webhook.go (validateReclaimablePodsUpdate), pkg/controller/jobframework/reconciler.go;
        # kubernetes-sigs/jobset v0.12.0 pkg/controllers/failure_policy.go (failurePolicyRecreateAll)
        "featureGates": {"ElasticJobsViaWorkloadSlices": False, "ReclaimablePods": False},
        **({"fairSharing": fair} if cluster.spec.queueing.fair_sharing else {}),
        "objectRetentionPolicies": {"workloads": {"afterFinished": RETENTION}},
    }


def _wait_for_pods_ready(cluster: Cluster) -> Body:
    """Returns the waitForPodsReady block. After the last attempt, Kueue sets `spec.active` of the Workload to false.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/core/workload_controller.go (triggerDeactivation)
    """
    minutes = f"{pods_ready_minutes(cluster)}m"
    return {
        "timeout": minutes,
        # A pod that lost its node waits for a new node, which needs the same boot time. With a shorter timeout, Kueue
        # would evict the workload before the new node is ready.
        "recoveryTimeout": minutes,
        "blockAdmission": False,
        "requeuingStrategy": {
            "timestamp": "Eviction",
            # The first attempt is no retry.
            "backoffLimitCount": cluster.spec.kueue.start_attempts - 1,
            "backoffBaseSeconds": 60,
            "backoffMaxSeconds": 1800,
        },
    }


_PREEMPTS = {
    ("within_queue", "lower-priority"): "lower priorities of the queue",
    ("within_queue", "lower-or-newer"): "lower priorities and newer workloads of the queue",
    ("reclaim", "lower-priority"): "lower priorities that borrow its quota",
    ("reclaim", "any"): "workloads that borrow its quota",
    ("borrowing", "lower-priority"): "lower priorities of other queues while it borrows",
}


def _quota_row(queue: Queue, name: str, quota: PoolQuota) -> tuple[str, ...]:
    """Returns the row of a quota in the README, with the name of the ClusterQueue and its LocalQueues."""
    spec, preempt = quota.spec, queue.spec.preempt
    nominal = quota_text(quota.pool, spec)
    borrow, lend = (_limit(limit) if queue.spec.cohort else "0" for limit in (spec.borrow, spec.lend))
    rules = [text for (field, value), text in _PREEMPTS.items() if getattr(preempt, field) == value]
    return name, ", ".join(queue.tenant_names), quota.pool.name, nominal, borrow, lend, ", ".join(rules)


def _limit(limit: Limit) -> str:
    return ", ".join(f"{profile}: {n}" for profile, n in limit.items()) if isinstance(limit, dict) else str(limit)


def _chapter(cluster: Cluster) -> dict[str, object]:
    priorities = sorted(cluster.spec.priorities.items(), key=lambda item: -item[1].value)
    return {
        "quotas": [
            _quota_row(queue, cluster_queue.name, quota)
            for queue in cluster.queues
            for cluster_queue in queue.cluster_queues
            for quota in cluster_queue.pool_quotas
        ],
        "priorities": ", ".join(f"`{name}` {priority.value}" for name, priority in priorities),
        "starts_nodes": any(pool.scaling for pool in cluster.pools),
        "ready_minutes": pods_ready_minutes(cluster),
        "attempts": cluster.spec.kueue.start_attempts,
        "counts_pods": manages_pods(cluster),
    }


def _needs(chart: facts.InstalledChart) -> Iterator[tuple[str, Path]]:
    text = dig(chart.values, *CONFIGURATION)
    document = chart.documents.get(text, {}) if isinstance(text, str) else {}
    for framework in (str(name) for _, name in items(dig(document, "integrations", "frameworks"))):
        if "/" in framework and framework.partition("/")[0] not in ("batch", *chart.groups):
            yield f"job-controller/{framework}", CONFIGURATION


METRICS = parts.secured_metrics(
    relabelings=[
        {
            "action": "keep",
            "sourceLabels": ["__meta_kubernetes_service_name"],
            "regex": "kueue-controller-manager-metrics-service",
        }
    ]
)
"""All Services of Kueue have the same labels and port name, so a relabeling selects the metrics Service by its name."""


def _restart_effect(values: Body) -> str:
    replicas = dig(values, "controllerManager", "replicas")
    refused = "" if isinstance(replicas, int) and replicas > 1 else "; the API server refuses new jobs until then"
    return f"until a new replica leads, Kueue admits no workload; workloads that run continue{refused}"


RESTARTS = facts.Restarts(
    in_pods=None,
    in_no_pod=(
        "certManager", "controllerManager.podDisruptionBudget", "controllerManager.replicas",
        "controllerManager.strategy", "enableKueueViz", "enableMutatingAdmissionPolicy", "enablePrometheus",
        "enableVisibilityAPF", "enableVisibilityAuthReaderRoleBinding", "kueueViz", "metrics", "metricsService",
        "mutatingWebhook", "webhookService",
    ),
    partial=(),
    effect=_restart_effect,
)  # fmt: skip
"""KueueViz has its own pods.

Source: kueue v0.19.2 charts/kueue/templates/manager/manager.yaml (config-checksum), charts/kueue/templates/webhook
"""
_SERVICES = frozenset(("metrics-service", "webhook-service", "visibility-service"))
CHART_LABELS = facts.ChartLabels(
    services=facts.named("kueue", facts.HELM_LABELS, facts.MANAGER_LABEL, {"app.kubernetes.io/component": _SERVICES}),
    pods=facts.named("kueue", facts.MANAGER_LABEL, facts.INSTANCE_LABEL),
    relabelling=("nameOverride", "enableKueueViz"),
)
"""Source: kueue v0.19.2 charts/kueue/templates"""

COMPONENT = parts.Component(
    name="kueue",
    title="Kueue",
    section=("spec", "kueue"),
    wave=10,
    artifacts=kueue,
    is_needed=lambda cluster: bool(cluster.queues),
    may_need_refresh=True, keeps_definitions=True,
    chart_cluster_kinds=(
        parts.CRD, *parts.CLUSTER_ROLES, *parts.WEBHOOKS, ("apiregistration.k8s.io", "APIService"),
    ),
    chart_kinds=parts.WEBHOOK_CONTROLLER,
    cluster_kinds=(
        (GROUP, "ClusterQueue"), (GROUP, "Cohort"), (GROUP, "ResourceFlavor"),
        (GROUP, "Topology"), (GROUP, "WorkloadPriorityClass"),
    ),
    kinds=((GROUP, "LocalQueue"),),
    reasons={
        "enablePrometheus": "gpuc emits the ServiceMonitor",
        "enableVisibilityAuthReaderRoleBinding": "members of tenants read the waiting workloads of their queues",
        "controllerManager": "Kueue runs on the system nodes, and a second replica continues if a node fails",
        "managerConfig.controllerManagerConfigYaml": "the kinds that Kueue manages, only in the namespaces of tenants",
    },
    relied_defaults={"nameOverride": NAMES, "fullnameOverride": NAMES},
    folders=(
        parts.Folder("kueue/config", "flavors", 25, is_protected=True, has_subfolders=True),
        parts.Folder(
            "kueue/queues", "queues", 26, is_protected=True,
            # Engineers can stop a ClusterQueue by hand. Argo CD does not undo this.
            ignored=({"group": GROUP, "kind": "ClusterQueue", "jsonPointers": ["/spec/stopPolicy"]},),
        ),
    ),
    ignored=(
        *parts.webhook_certificates(*parts.WEBHOOKS),
        {
            "group": "apiextensions.k8s.io",
            "kind": "CustomResourceDefinition",
            "jsonPointers": ["/spec/conversion/webhook/clientConfig/caBundle"],
        },
    ),
    ineffective={}, ineffective_because="", namespace_labels=parts.PLATFORM,
    monitor=parts.Monitor(METRICS, {"app.kubernetes.io/name": "kueue"}, build_metric="kueue_build_info"),
    alerts={"records": queue_records, "queues": queue_alerts},
    alert_labels=lambda cluster: (),
    ready_check=facts.ReadyCheck(
        "All ClusterQueues are active",
        "get clusterqueues -o custom-columns='NAME:.metadata.name,"
        'ACTIVE:.status.conditions[?(@.type=="Active")].status,PENDING:.status.pendingWorkloads\'',
    ),
    preparation=None, chapter=facts.Chapter("quotas", _chapter),
    member_rights=(
        (GROUP, ("localqueues", "workloads"), facts.READ),
        (VISIBILITY, ("localqueues/pendingworkloads",), ("get",)),
    ),
    auditor_rights=(
        (
            GROUP, ("admissionchecks", "clusterqueues", "cohorts", "resourceflavors", "topologies",
                    "workloadpriorityclasses"), facts.READ,
        ),
        (VISIBILITY, ("clusterqueues/pendingworkloads",), ("get",)),
    ),
    calls=None, restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None,
    config_maps=(),
    rehearsal=facts.Rehearsal(
        program="kueue",
        data=("kueue-webhooks.yaml",),
        definitions="kueue-crds",
        unused_groups=(),
    ),
    needs=_needs,
)  # fmt: skip
