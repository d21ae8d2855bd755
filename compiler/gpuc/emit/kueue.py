"""Kueue: Helm values, and the objects that queues refer to: flavors, topologies, cohorts and priorities."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit.block import block_yaml
from gpuc.emit.component import (
    CLUSTER_ROLES,
    CONTROLLER,
    CRD,
    SYSTEM_TOLERATIONS,
    Component,
    Folder,
    webhook_certificate,
)
from gpuc.emit.queues import fair_share, queue_objects
from gpuc.emit.sync import protected, wave
from gpuc.kubernetes.api_groups import ADMISSION_REGISTRATION
from gpuc.kubernetes.kueue import GROUP, KUEUE_API
from gpuc.manifest.manifest import Artifact, Body, Manifest, RunsOn, Values
from gpuc.model import Cluster, Cohort, Pool
from gpuc.model.names import POOL_LABEL, TENANT_KEY
from gpuc.parts.workload_kinds import pod_frameworks

NAMES = "policies name the ServiceAccount kueue-controller-manager, and the ServiceMonitor names the Service"
"""The reason for the names of the chart's objects."""
RETENTION = "168h"
"""How long Kueue keeps finished Workloads. Without a limit they fill etcd."""

MODEL_LOAD_SECONDS = 900
"""Time limit from the start of an inference server until the server is ready.

A model with 70B parameters of 16 bits has 140 GB, which load in 280 s at 500 MB/s. Compilation and CUDA graphs take up
to 300 s more. The limit is 1.5 times the sum, rounded up to full minutes.
"""


def kueue(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values and all cluster-scoped objects of Kueue."""
    pools = queued_pools(cluster)
    yield _values(cluster)
    yield from _topologies(cluster, pools)
    yield from (_flavor(cluster, pool) for pool in pools)
    yield from _priorities(cluster)
    yield from (_cohort(cluster, cohort) for cohort in cluster.cohorts)
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
            "tolerations": SYSTEM_TOLERATIONS,
            "manager": {"priorityClassName": "system-cluster-critical"},
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
            "topologySpreadConstraints": [spread],
        },
        "managerConfig": {"controllerManagerConfigYaml": text},
    }
    pods: dict[Path, RunsOn] = {("controllerManager",): "system nodes"}
    return Values(cluster.values_file("kueue"), ("spec", "kueue"), "kueue", body, {text: configuration}, pods=pods)


def _configuration(cluster: Cluster) -> Body:
    """Returns the complete configuration of the controller, because it replaces the defaults of the chart."""
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
        # their pods any more, and could not evict the JobSet, because its webhook refuses a smaller count.
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
        # A pod that lost its node waits for a new node, which needs the same boot time.
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


def queued_pools(cluster: Cluster) -> tuple[Pool, ...]:
    """Returns the pools for which a queue has quota. Only these pools have a ResourceFlavor."""
    return tuple(pool for pool in cluster.pools if cluster.queues_of(pool))


def manages_pods(cluster: Cluster) -> bool:
    """Returns whether Kueue manages pods that are not part of a job."""
    return not pod_frameworks().isdisjoint(cluster.frameworks)


def pods_ready_minutes(cluster: Cluster) -> int:
    """Returns the time limit for the start of admitted workloads: 1.5 times the boot time of the slowest pool.

    If Kueue manages Deployments, the pods are ready only after the model is loaded. Without this time, Kueue would
    evict the pods again and again.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/configuration_types.go
    """
    slowest = max((pool.boot_minutes for pool in queued_pools(cluster)), default=10)
    load_minutes = MODEL_LOAD_SECONDS // 60 if manages_pods(cluster) else 0
    return -(-slowest * 3 // 2) + load_minutes


def _topologies(cluster: Cluster, pools: tuple[Pool, ...]) -> Iterator[Manifest]:
    """Yields one Topology per list of topology levels.

    A Topology is protected, because the finalizer of Kueue keeps the Topology until no ResourceFlavor refers to it.
    """
    for name, pool in sorted({pool.topology_name: pool for pool in reversed(pools) if pool.spec.topology}.items()):
        file = cluster.out(f"kueue/config/topologies/{name}.yaml")
        levels = [{"nodeLabel": label} for label in pool.level_labels.values()]
        body: Body = {"spec": {"levels": levels}}
        yield Manifest(
            file, (*pool.path, "topology"), KUEUE_API, "Topology", name, body, annotations=protected(cluster, 0)
        )


def _flavor(cluster: Cluster, pool: Pool) -> Manifest:
    """Returns the ResourceFlavor of a pool, with tolerations of the taints of the pool, but not of the startup taints.

    A ResourceFlavor is protected, because the finalizer of Kueue keeps it until no ClusterQueue refers to it.
    """
    spec: Body = {"nodeLabels": {POOL_LABEL: pool.name}}
    if pool.taints:
        spec["tolerations"] = [taint.toleration() for taint in pool.taints]
    if pool.spec.topology:
        spec["topologyName"] = pool.topology_name
    file = cluster.out(f"kueue/config/flavors/{pool.name}.yaml")
    return Manifest(
        file, pool.path, KUEUE_API, "ResourceFlavor", pool.name, {"spec": spec}, annotations=protected(cluster, 0)
    )


def _priorities(cluster: Cluster) -> Iterator[Manifest]:
    """Yields WorkloadPriorityClasses. With PriorityClasses, the scheduler would preempt pods of other queues."""
    file = cluster.out("kueue/config/priorities.yaml")
    for name, value in cluster.spec.priorities.items():
        origin = ("spec", "priorities", name)
        yield Manifest(file, origin, KUEUE_API, "WorkloadPriorityClass", name, {"value": value}, annotations=wave(1))


def _cohort(cluster: Cluster, cohort: Cohort) -> Manifest:
    spec: Body = {"parentName": cohort.spec.parent} if cohort.spec.parent else {}
    spec |= fair_share(cluster, cohort.spec.weight)
    file = cluster.out(f"kueue/config/cohorts/{cohort.name}.yaml")
    return Manifest(
        file, cohort.path, KUEUE_API, "Cohort", cohort.name, {"spec": spec} if spec else {}, annotations=wave(1)
    )


COMPONENT = Component(
    name="kueue",
    wave=10,
    artifacts=kueue,
    is_needed=lambda cluster: bool(cluster.queues),
    keeps_definitions=True,
    chart_cluster_kinds=(
        CRD, *CLUSTER_ROLES, (ADMISSION_REGISTRATION, "MutatingWebhookConfiguration"),
        (ADMISSION_REGISTRATION, "ValidatingWebhookConfiguration"), ("apiregistration.k8s.io", "APIService"),
    ),
    chart_kinds=(
        *CONTROLLER, ("", "Service"), ("", "Secret"), ("", "ConfigMap"), ("policy", "PodDisruptionBudget"),
    ),
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
        Folder("kueue/config", 25, "kueue", is_protected=True, has_subfolders=True),
        Folder(
            "kueue/queues", 26, "kueue", is_protected=True,
            # Engineers can stop a ClusterQueue by hand. Argo CD does not undo this.
            ignored=({"group": GROUP, "kind": "ClusterQueue", "jsonPointers": ["/spec/stopPolicy"]},),
        ),
    ),
    ignored=(
        webhook_certificate("MutatingWebhookConfiguration"),
        webhook_certificate("ValidatingWebhookConfiguration"),
        {
            "group": "apiextensions.k8s.io",
            "kind": "CustomResourceDefinition",
            "jsonPointers": ["/spec/conversion/webhook/clientConfig/caBundle"],
        },
    ),
)  # fmt: skip
