"""LeaderWorkerSet: the controller of groups of pods that start, restart and scale together."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.alerts.leader import leader_alerts, leader_metric
from gpuc.manifest.manifest import Artifact, Body, Values
from gpuc.model import Cluster

SECTION: Path = ("spec", "components", "lws")
LEADER = leader_metric("b8b2488c.x-k8s.io")
"""Source: kubernetes-sigs/lws v0.9.0 api/config/v1alpha1/defaults.go (DefaultLeaderElectionID)"""
NAMES = "policies name the ServiceAccount lws-controller-manager"
"""The reason for the names of the chart's objects."""
METRICS_SERVICE = "controller-manager-metrics-service"


def lws(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of LeaderWorkerSet."""
    version = cluster.components["lws"].version.removeprefix("v")
    body: Body = {
        # As for JobSet, only the released chart has the released image.
        # Source: kubernetes-sigs/lws v0.9.0 charts/lws/values.yaml, hack/push-chart.sh
        "image": {
            "manager": {
                "repository": "registry.k8s.io/lws/lws", "tag": f"v{version}", "pullPolicy": "IfNotPresent"
            }
        },
        "replicaCount": 2,
        # Only with this value does the chart have a Service for the metrics. Its own ServiceMonitor selects no Service.
        # Source: kubernetes-sigs/lws v0.9.0 charts/lws/templates/manager/service.yaml, prometheus/monitor.yaml
        "enablePrometheus": cluster.spec.observability is not None,
        **parts.on_system_nodes(cluster, "lws"),
    }  # fmt: skip
    yield Values(cluster.values_file("lws"), SECTION, "lws", body, pods={(): "system nodes"})


RESTARTS = facts.Restarts(
    in_pods=None,
    # The pods mount one file of the ConfigMap (subPath), and no annotation has its hash: a running pod keeps the file.
    in_no_pod=("enableDisaggregatedSet", "gangSchedulingManagement", "replicaCount", "service.type"),
    partial=(),
    effect=lambda values: (
        "until a new replica leads, LeaderWorkerSets start no groups and do not restart after a failure; "
        "pods that run continue"
    ),
)
"""Source: kubernetes-sigs/lws v0.9.0 charts/lws/templates/manager/deployment.yaml, configmap.yaml"""
CHART_LABELS = facts.ChartLabels(
    services=facts.named(
        "lws", facts.HELM_LABELS, {"app.kubernetes.io/instance": frozenset((METRICS_SERVICE, "webhook-service"))}
    ),
    pods=facts.named("lws", facts.INSTANCE_LABEL, facts.MANAGER_LABEL),
    relabelling=("nameOverride",),
)
"""Source: kubernetes-sigs/lws v0.9.0 charts/lws/templates: _helpers.tpl, manager, webhook"""

COMPONENT = parts.Component(
    name="lws",
    title="LeaderWorkerSet",
    section=SECTION,
    # Kueue, in wave 10, does not manage LeaderWorkerSets until their definition exists. The controller is ready before
    # its webhooks answer, so that Argo CD tries again.
    # Source: kubernetes-sigs/lws v0.9.0 cmd/main.go (AddReadyzCheck with a ping)
    wave=0,
    artifacts=lws,
    is_needed=lambda cluster: "lws" in cluster.components,
    may_need_refresh=True,
    # The definitions are in the folder crds of the chart.
    keeps_definitions=False,
    chart_cluster_kinds=(parts.CRD, *parts.CLUSTER_ROLES, *parts.WEBHOOKS),
    chart_kinds=(
        *parts.CONTROLLER, ("", "Service"), ("", "Secret"), ("", "ConfigMap"),
        ("monitoring.coreos.com", "ServiceMonitor"),
    ),
    cluster_kinds=(), kinds=(), folders=(), ignored=parts.webhook_certificates(*parts.WEBHOOKS),
    reasons={
        "image": "the released image: the chart in the repository of LeaderWorkerSet names the image of a branch",
        "replicaCount": parts.SECOND_REPLICA,
        "enablePrometheus": "the Service for the metrics",
        "affinity": parts.SYSTEM_PODS,
        "tolerations": parts.SYSTEM_PODS,
    },
    relied_defaults={
        "nameOverride": NAMES,
        "fullnameOverride": NAMES,
        "enableCertManager": "the controller writes the certificate of its webhooks without cert-manager",
        "enableDisaggregatedSet": "Kueue does not manage DisaggregatedSets",
        "gangSchedulingManagement": "Kueue admits complete groups; a second scheduler would wait for them again",
    },
    ineffective={}, ineffective_because="", namespace_labels=parts.PLATFORM,
    monitor=parts.Monitor(
        parts.secured_metrics(),
        {"app.kubernetes.io/name": "lws", "app.kubernetes.io/instance": METRICS_SERVICE}, build_metric=LEADER,
    ),
    alerts={"lws": leader_alerts("GpucLeaderWorkerSetNoLeader", "lws", LEADER)},
    alert_labels=lambda cluster: (),
    restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None, config_maps=(),
    ready_check=None, chapter=None, preparation=None,
    # Members and auditors have rights for LeaderWorkerSets if Kueue manages them.
    member_rights=(), auditor_rights=(), rehearsal=None, needs=facts.nothing, calls=None,
)  # fmt: skip
