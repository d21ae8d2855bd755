"""KubeRay: the operator that runs RayClusters, RayJobs and RayServices."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.alerts.leader import leader_alerts, leader_metric
from gpuc.manifest.manifest import Artifact, Body, Values
from gpuc.model import Cluster

SECTION: Path = ("spec", "components", "kuberay")
LEADER = leader_metric("ray-operator-leader")
"""Source: ray-project/kuberay v1.6.2 ray-operator/main.go (LeaderElectionID)"""
NAMES = "policies name the ServiceAccount kuberay-operator, and NetworkPolicies the pods of the operator"
"""The reason for the names of the chart's objects."""
ONE_SCHEDULER = "Kueue admits complete Ray clusters; a second scheduler would wait for them again"
ALL_NAMESPACES = "the operator serves the namespaces of all tenants"


def kuberay(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of KubeRay."""
    body: Body = {
        "image": {"tag": f"v{cluster.components['kuberay'].version.removeprefix('v')}"},
        "replicas": 2,
        # The chart has limits for 500 pods of Ray, and requests nothing else.
        "resources": {"requests": {"cpu": "100m", "memory": "512Mi"}, "limits": {"cpu": "1", "memory": "2Gi"}},
        **parts.on_system_nodes(cluster, "kuberay-operator"),
    }
    yield Values(cluster.values_file("kuberay"), SECTION, "kuberay", body, pods={(): "system nodes"})


RESTARTS = facts.Restarts(
    in_pods=None,
    in_no_pod=(
        "crNamespacedRbacEnable", "metrics.serviceMonitor", "rbacEnable", "replicas", "service", "serviceAccount.create"
    ),
    partial=(),
    effect=lambda values: "until a new replica leads, Ray clusters start no pods; pods that run continue",
)  # fmt: skip
"""The Deployment has strategy Recreate: all replicas end before the new ones start.

Source: ray-project/kuberay v1.6.2 helm-chart/kuberay-operator/templates/deployment.yaml
"""
CHART_LABELS = facts.ChartLabels(
    services=facts.named("kuberay-operator", facts.HELM_LABELS),
    pods=facts.named(
        "kuberay-operator", facts.INSTANCE_LABEL, {"app.kubernetes.io/component": frozenset(("kuberay-operator",))}
    ),
    relabelling=("nameOverride", "componentOverride", "labels"),
)
"""Source: ray-project/kuberay v1.6.2 helm-chart/kuberay-operator/templates: _helpers.tpl, deployment, service"""
CALLS = facts.Calls({"app.kubernetes.io/name": "kuberay-operator"}, ports=(8265, 8000))
"""The operator asks the dashboard of the head for the state of a job, and the proxies of Ray Serve for their health.

Source: ray-project/kuberay v1.6.2 ray-operator/controllers/ray/rayjob_controller.go (FetchHeadServiceURL),
rayservice_controller.go (updateHeadPodServeLabel), utils/constant.go (ports)
"""

COMPONENT = parts.Component(
    name="kuberay",
    title="KubeRay",
    section=SECTION,
    wave=0,
    artifacts=kuberay,
    is_needed=lambda cluster: "kuberay" in cluster.components,
    may_need_refresh=True,
    # The definitions are in the folder crds of the chart.
    keeps_definitions=False,
    chart_cluster_kinds=(parts.CRD, *parts.CLUSTER_ROLES),
    chart_kinds=(*parts.CONTROLLER, ("", "Service")),
    cluster_kinds=(), kinds=(), folders=(), ignored=(),
    reasons={
        "image": "the operator has the version of the chart",
        "replicas": parts.SECOND_REPLICA,
        "resources": "the limits of the chart are for 500 pods of Ray",
        "affinity": parts.SYSTEM_PODS,
        "tolerations": parts.SYSTEM_PODS,
    },
    relied_defaults={
        "nameOverride": NAMES,
        "fullnameOverride": NAMES,
        "serviceAccount": NAMES,
        "leaderElectionEnabled": "without a leader, both replicas would create pods",
        "batchScheduler": ONE_SCHEDULER,
        "configuration.enabled": "a file of settings would replace the Helm values",
        "singleNamespaceInstall": ALL_NAMESPACES,
        "watchNamespace": ALL_NAMESPACES,
    },
    ineffective={}, ineffective_because="", namespace_labels=parts.PLATFORM,
    monitor=parts.Monitor(
        {"endpoints": [{"port": "http", "path": "/metrics", "honorLabels": True}]},
        {"app.kubernetes.io/name": "kuberay-operator"}, build_metric=LEADER,
    ),
    alerts={"kuberay": leader_alerts("GpucKubeRayNoLeader", "kuberay", LEADER)},
    alert_labels=lambda cluster: (),
    restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None, config_maps=(),
    ready_check=None, chapter=None, preparation=None,
    # Members and auditors have rights for the kinds that Kueue manages.
    member_rights=(), auditor_rights=(), rehearsal=None, needs=facts.nothing, calls=CALLS,
)  # fmt: skip
