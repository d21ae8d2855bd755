"""JobSet: the controller of JobSets, which are groups of jobs that start and restart together."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.alerts.leader import leader_alerts, leader_metric
from gpuc.manifest.manifest import Artifact, Body, RunsOn, Values
from gpuc.model import Cluster

SECTION: Path = ("spec", "components", "jobset")
LEADER = leader_metric("6d4f6a47.jobset.x-k8s.io")
"""Source: kubernetes-sigs/jobset v0.12.0 api/config/v1alpha1/defaults.go (DefaultLeaderElectionID)"""
NAMES = "policies name the ServiceAccount jobset-controller, and Argo CD keeps the Secret jobset-webhook-server-cert"
"""The reason for the names of the chart's objects."""


def jobset(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of JobSet."""
    body: Body = {
        # In the repository, the chart has an image of a staging registry with the tag main. The script that packages a
        # release writes these values into the chart.
        # Source: kubernetes-sigs/jobset v0.12.0 charts/jobset/values.yaml, hack/helm-chart-package.sh
        "image": {
            "repository": "registry.k8s.io/jobset/jobset",
            "tag": f"v{cluster.components['jobset'].version.removeprefix('v')}",
            "pullPolicy": "IfNotPresent",
        },
        "controller": {
            "replicas": 2,
            **parts.on_system_nodes(cluster, "jobset"),
            "podDisruptionBudget": {"enabled": True, "minAvailable": 1},
        },
    }
    pods: dict[Path, RunsOn] = {("controller",): "system nodes"}
    yield Values(cluster.values_file("jobset"), SECTION, "jobset", body, pods=pods)


METRICS_SERVICE = {"app.kubernetes.io/name": "jobset", "app.kubernetes.io/component": "controller"}
"""Labels of the Service with the metrics. The Service of the webhooks has the component webhook.

Source: kubernetes-sigs/jobset v0.12.0 charts/jobset/templates/prometheus, main.go (SecureServing,
WithAuthenticationAndAuthorization)
"""
CERTIFICATE: Body = {"kind": "Secret", "name": "jobset-webhook-server-cert", "jsonPointers": ["/data"]}
"""The entry of ignoreDifferences for the certificate of the webhooks.

The chart renders the Secret with four empty keys, and the controller writes the certificate into these keys. Without
this entry, each sync would empty the keys, and the API server would refuse JobSets until it has the next certificate.

Source: kubernetes-sigs/jobset v0.12.0 charts/jobset/templates/internalcert/secret.yaml, pkg/util/cert/cert.go
"""

RESTARTS = facts.Restarts(
    in_pods=None,
    in_no_pod=(
        "certManager.issuerRef", "controller.annotations", "controller.podDisruptionBudget", "controller.replicas",
        "kubernetesClusterDomain", "prometheus",
    ),
    partial=(),
    effect=lambda values: (
        "until a new replica leads, JobSets start no jobs and do not restart after a failure; pods that run continue"
    ),
)  # fmt: skip
"""Source: kubernetes-sigs/jobset v0.12.0 charts/jobset/templates/controller/deployment.yaml (config-hash)"""
_COMPONENTS = frozenset(("controller", "webhook"))
CHART_LABELS = facts.ChartLabels(
    services=facts.named("jobset", facts.INSTANCE_LABEL, {"app.kubernetes.io/component": _COMPONENTS}),
    pods=facts.named("jobset", facts.HELM_LABELS, {"app.kubernetes.io/component": frozenset(("controller",))}),
    relabelling=("nameOverride", "commonLabels"),
)
"""Source: kubernetes-sigs/jobset v0.12.0 charts/jobset/templates: _helpers.tpl, controller, prometheus, webhook"""

COMPONENT = parts.Component(
    name="jobset",
    title="JobSet",
    section=SECTION,
    # Kueue, in wave 10, does not manage JobSets until their definition exists.
    # Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/setup.go (WaitForAPI)
    wave=0,
    artifacts=jobset,
    is_needed=lambda cluster: "jobset" in cluster.components,
    may_need_refresh=True,
    # The definition is in the folder crds of the chart, not in the templates.
    keeps_definitions=False,
    chart_cluster_kinds=(parts.CRD, *parts.CLUSTER_ROLES, *parts.WEBHOOKS),
    chart_kinds=parts.WEBHOOK_CONTROLLER, cluster_kinds=(), kinds=(), folders=(),
    ignored=(*parts.webhook_certificates(*parts.WEBHOOKS), CERTIFICATE),
    reasons={
        "image": "the released image: the chart in the repository of JobSet names an image of a staging registry",
        "controller": parts.SYSTEM_PODS,
        "controller.replicas": parts.SECOND_REPLICA,
        "controller.podDisruptionBudget": "one replica answers the webhooks while nodes are replaced",
    },
    relied_defaults={
        "nameOverride": NAMES,
        "fullnameOverride": NAMES,
        "controller.leaderElection.enable": "without a leader, both replicas would create jobs",
        "certManager.enable": "the controller writes the certificate of its webhooks without cert-manager",
    },
    ineffective={}, ineffective_because="", namespace_labels=parts.PLATFORM,
    monitor=parts.Monitor(parts.secured_metrics(), METRICS_SERVICE, build_metric=LEADER),
    alerts={"jobset": leader_alerts("GpucJobSetNoLeader", "jobset", LEADER)},
    alert_labels=lambda cluster: (),
    restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None, config_maps=(),
    ready_check=None, chapter=None, preparation=None,
    # Members have rights for JobSets if Kueue manages JobSets, and auditors too.
    member_rights=(), auditor_rights=(),
    # `gpuc tools` builds the controller only for the tests of gpuc, not with the control plane of the rehearsal.
    rehearsal=None,
    needs=facts.nothing,
    calls=None,
)  # fmt: skip
