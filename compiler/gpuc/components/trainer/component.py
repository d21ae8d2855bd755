"""Kubeflow Trainer: the controller of TrainJobs. It runs a TrainJob as a JobSet from the template of a runtime."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.alerts.leader import leader_alerts, leader_metric
from gpuc.manifest.manifest import Artifact, Body, RunsOn, Values
from gpuc.model import Cluster

SECTION: Path = ("spec", "components", "trainer")
LEADER = leader_metric("trainer.kubeflow.org")
"""Source: kubeflow/trainer v2.3.0 charts/kubeflow-trainer/values.yaml (leaderElection.resourceName)"""
NAMES = "policies name the ServiceAccount kubeflow-trainer-controller-manager"
"""The reason for the names of the chart's objects."""


def trainer(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of Kubeflow Trainer."""
    body: Body = {
        "jobset": {"install": False},
        "dataCache": {"enabled": False},
        # The default runtimes come from a Job that installs kubectl from the internet.
        # Source: kubeflow/trainer v2.3.0 charts/kubeflow-trainer/templates/runtimes/installer-job.yaml
        "runtimes": {"defaultEnabled": False},
        "webhook": {"failurePolicy": "Fail"},
        "manager": {
            "replicas": 2,
            "resources": {"requests": {"cpu": "100m", "memory": "300Mi"}, "limits": {"memory": "1Gi"}},
            **parts.on_system_nodes(cluster, "kubeflow-trainer"),
        },
    }
    pods: dict[Path, RunsOn] = {("manager",): "system nodes"}
    yield Values(cluster.values_file("trainer"), SECTION, "trainer", body, pods=pods)


RESTARTS = facts.Restarts(
    in_pods=("image", "manager"),
    # The pods mount one file of the ConfigMap (subPath), and no annotation has its hash: a running pod keeps the file.
    in_no_pod=("manager.config", "manager.replicas"),
    partial=(),
    effect=lambda values: "until a new replica leads, TrainJobs create no JobSets; pods that run continue",
)
"""Source: kubeflow/trainer v2.3.0 charts/kubeflow-trainer/templates/manager/deployment.yaml, configmap.yaml"""
_PART: facts.Labels = {
    "app.kubernetes.io/part-of": frozenset(("kubeflow",)),
    "app.kubernetes.io/component": frozenset(("manager",)),
}
CHART_LABELS = facts.ChartLabels(
    services=facts.named("kubeflow-trainer", facts.HELM_LABELS, _PART),
    pods=facts.named("kubeflow-trainer", facts.INSTANCE_LABEL, _PART),
    relabelling=("nameOverride", "labels", "selectorLabels"),
)
"""Source: kubeflow/trainer v2.3.0 charts/kubeflow-trainer/templates: _helpers.tpl, manager"""

COMPONENT = parts.Component(
    name="trainer",
    title="Kubeflow Trainer",
    section=SECTION,
    # After JobSet, whose definition Trainer watches. Kueue, in wave 10, ends if it manages TrainJobs and the
    # definitions of runtimes do not exist.
    # Source: kubeflow/trainer v2.3.0 pkg/runtime/framework/plugins/jobset (ReconcilerBuilders)
    wave=5,
    artifacts=trainer,
    is_needed=lambda cluster: "trainer" in cluster.components,
    may_need_refresh=True,
    keeps_definitions=True,
    chart_cluster_kinds=(parts.CRD, *parts.CLUSTER_ROLES, *parts.WEBHOOKS),
    chart_kinds=(*parts.CONTROLLER, ("", "Service"), ("", "Secret"), ("", "ConfigMap")),
    cluster_kinds=(), kinds=(), folders=(), ignored=parts.webhook_certificates(*parts.WEBHOOKS),
    reasons={
        "jobset.install": "component jobset installs JobSet",
        "dataCache.enabled": "the cache for data would install a second LeaderWorkerSet",
        "runtimes.defaultEnabled": "the Job that installs the default runtimes downloads kubectl from the internet",
        "webhook.failurePolicy": "a TrainJob that no webhook checked can start pods that never find each other",
        "manager": parts.SYSTEM_PODS,
        "manager.replicas": parts.SECOND_REPLICA,
        "manager.resources": "the chart has no requests",
    },
    relied_defaults={
        "nameOverride": NAMES,
        "fullnameOverride": NAMES,
        "crds.enabled": "Kueue ends if it manages TrainJobs without their definitions",
        "manager.config.leaderElection.leaderElect": "without a leader, both replicas would create JobSets",
        "manager.config.certManagement.enable": "the controller writes the certificate of its webhooks",
    },
    ineffective={}, ineffective_because="", namespace_labels=parts.PLATFORM,
    monitor=parts.Monitor(
        parts.secured_metrics(port="monitoring-port"), {"app.kubernetes.io/name": "kubeflow-trainer"},
        build_metric=LEADER,
    ),
    alerts={"trainer": leader_alerts("GpucTrainerNoLeader", "trainer", LEADER)},
    alert_labels=lambda cluster: (),
    restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None, config_maps=(),
    ready_check=None, chapter=None, preparation=None,
    # Members and auditors have rights for TrainJobs if Kueue manages TrainJobs. The platform writes the runtimes.
    member_rights=(("trainer.kubeflow.org", ("trainingruntimes",), facts.READ),),
    auditor_rights=(("trainer.kubeflow.org", ("clustertrainingruntimes",), facts.READ),),
    rehearsal=None, needs=facts.nothing, calls=None,
)  # fmt: skip
