"""Gatekeeper: its Helm values, and all objects that Gatekeeper reads."""

from collections.abc import Iterator

from gpuc.components.gatekeeper.alerts import AUDIT_SECONDS, policy_alerts
from gpuc.components.gatekeeper.objects import policy_objects, policy_origin
from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, quantity_text
from gpuc.kubernetes.api_groups import CONSTRAINTS, TEMPLATES
from gpuc.manifest.manifest import Artifact, Body, RunsOn, Values
from gpuc.model import Cluster
from gpuc.objects.object_set import dig

REFUSES = "policies at deny refuse objects"
"""The reason for the objects that the webhook checks."""

AUDIT_CHUNK = 500
"""The number of objects in one list request of the audit. It is the chart's default, on which the memory depends."""


def gatekeeper(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of Gatekeeper, and the objects that configure it and its policies."""
    yield _values(cluster)
    yield from policy_objects(cluster)


def _values(cluster: Cluster) -> Values:
    # Gatekeeper does not run on nodes of pools: no node starts while the webhook of Gatekeeper, which checks new nodes,
    # is not running.
    body: Body = {
        "replicas": 3,
        "validatingWebhookFailurePolicy": "Ignore",
        "validatingWebhookTimeoutSeconds": 3,
        "enableK8sNativeValidation": True,
        "enableGeneratorResourceExpansion": True,
        # No policy of gpuc mutates objects.
        "disableMutation": True,
        # The hook would run at every sync (PreSync). Argo CD applies the CRDs from the chart's crds/ folder instead.
        "upgradeCRDs": {"enabled": False},
        "postInstall": {"labelNamespace": {"enabled": True}, "tolerations": parts.SYSTEM_TOLERATIONS},
        "controllerManager": {"exemptNamespaces": list(cluster.platform_namespaces), **parts.on_system_nodes(cluster)},
        "audit": {**parts.on_system_nodes(cluster), "resources": _audit_resources(cluster)},
        # All constraints name their kinds. Without this setting, the audit lists the objects of every kind.
        "auditMatchKindOnly": True,
        "auditInterval": AUDIT_SECONDS,
        "auditChunkSize": AUDIT_CHUNK,
    }
    pods: dict[Path, RunsOn] = {(key,): "system nodes" for key in ("controllerManager", "audit", "postInstall")}
    return Values(cluster.values_file("gatekeeper"), policy_origin(cluster), "gatekeeper", body, pods=pods)


def _audit_resources(cluster: Cluster) -> Body:
    """Returns the resources of the audit pod: the chart's 512Mi, and 512Mi for each 100 nodes that pools can have.

    The audit reads a chunk of objects at a time, but caches Namespaces and results. The memory is an estimate; the
    request equals the limit, so that the node always has it.
    """
    memory = quantity_text(MEMORY, 512 * MIB * (1 + sum(pool.nodes_max for pool in cluster.pools) // 100))
    return {"requests": {CPU: "100m", MEMORY: memory}, "limits": {MEMORY: memory}}


METRICS: Body = {"podMetricsEndpoints": [{"port": "metrics"}]}
"""No Service of Gatekeeper has the metrics port."""

_WEBHOOK = (
    "Annotations", "CheckIgnoreFailurePolicy", "CustomRules", "ExemptNamespacesLabels", "FailurePolicy",
    "MatchConditions", "ObjectSelector", "ReinvocationPolicy", "Scope", "SubResources", "TimeoutSeconds", "URL",
)  # fmt: skip
_AUDIT = (
    "audit", "auditChunkSize", "auditEventsInvolvedNamespace", "auditFromCache", "auditInterval", "auditMatchKindOnly",
    "auditPodAnnotations", "constraintViolationsLimit", "exportBackend", "externalCertInjection",
)  # fmt: skip
"""The values that are only in the audit pod, which answers no requests."""
RESTARTS = facts.Restarts(
    in_pods=None,
    in_no_pod=(
        *(f"{kind}Webhook{field}" for kind in ("mutating", "validating") for field in _WEBHOOK),
        "audit.exportConnection", "commonAnnotations", "controllerManager.extraRules",
        "controllerManager.networkPolicy", "controllerManager.strategyRollingUpdate", "controllerManager.strategyType",
        "crds", "disableAudit", "disableValidatingWebhook", "enableConnectOperations", "enableDeleteOperations", "pdb",
        "podCountLimit", "postInstall", "postUpgrade", "preInstall", "preUninstall", "rbac", "replicas",
        "resourceQuota", "revisionHistoryLimit", "secretAnnotations", "service", "serviceAccount", "upgradeCRDs",
    ),
    partial=(facts.PartialRestart(_AUDIT, "audit pod restarts", "Gatekeeper continues to check requests"),),
    effect=lambda values: (
        "while no replica answers, the API server refuses requests"
        if dig(values, "validatingWebhookFailurePolicy") == "Fail"
        else "while no replica answers, the API server accepts requests without the policies"
    ),
)  # fmt: skip
"""Source: gatekeeper v3.23.0 charts/gatekeeper/templates: gatekeeper-controller-manager-deployment.yaml,
gatekeeper-audit-deployment.yaml, gatekeeper-validating-webhook-configuration-validatingwebhookconfiguration.yaml"""
_LABELS: facts.Labels = {
    "app": frozenset(("gatekeeper",)), "chart": frozenset(("gatekeeper",)), "gatekeeper.sh/system": frozenset(("yes",)),
    "heritage": frozenset(("Helm",)), "release": facts.ANY,
}  # fmt: skip
CHART_LABELS = facts.ChartLabels(
    services=_LABELS,
    pods={
        **facts.named("gatekeeper", facts.HELM_LABELS, _LABELS),
        "control-plane": frozenset(("audit-controller", "controller-manager")),
        "gatekeeper.sh/operation": frozenset(("audit", "webhook")),
    },
    relabelling=("nameOverride", "commonLabels", "podLabels"),
)
"""Source: gatekeeper v3.23.0 charts/gatekeeper/templates"""

COMPONENT = parts.Component(
    name="gatekeeper",
    title="Gatekeeper",
    section=("spec", "policies"),
    wave=-10,
    artifacts=gatekeeper,
    is_needed=lambda cluster: cluster.spec.policies is not None,
    may_need_refresh=False, keeps_definitions=False,
    chart_cluster_kinds=(
        parts.CRD, *parts.CLUSTER_ROLES, parts.VALIDATING,
    ),
    chart_kinds=(
        *parts.CONTROLLER, ("", "Service"), ("", "Secret"), ("", "ResourceQuota"), ("batch", "Job"),
        ("policy", "PodDisruptionBudget"),
    ),
    cluster_kinds=(
        *parts.ADMISSION_POLICIES,
        (CONSTRAINTS, "Gpuc*"), ("expansion.gatekeeper.sh", "ExpansionTemplate"),
        (TEMPLATES, "ConstraintTemplate"),
    ),
    kinds=(("config.gatekeeper.sh", "Config"),),
    reasons={
        "replicas": "other replicas answer if a system node fails",
        "validatingWebhookFailurePolicy": "the cluster accepts objects while Gatekeeper does not run",
        "validatingWebhookTimeoutSeconds": "requests do not wait long for Gatekeeper",
        "enableK8sNativeValidation": "the policies are written in CEL",
        "enableGeneratorResourceExpansion": "Gatekeeper checks the pods of Deployments and Jobs when they are created",
        "disableMutation": "no policy changes objects",
        "upgradeCRDs": "Argo CD would run the hook at every sync",
        "postInstall": "the namespace of Gatekeeper is exempt from the policies",
        "controllerManager.exemptNamespaces": "no policy checks the namespaces of the platform",
        "controllerManager": parts.SYSTEM_PODS,
        "audit": f"{parts.SYSTEM_PODS}, and have memory for the audit of all nodes",
        "auditMatchKindOnly": "the audit reads only the kinds of the policies",
        "auditInterval": "an audit ends before the next audit starts; the alert GpucAuditLate expects this time",
        "auditChunkSize": "the memory of the audit is for this number of objects",
    },
    # Source: gatekeeper v3.23.0 charts/gatekeeper/values.yaml
    relied_defaults={
        "disableValidatingWebhook": f"{REFUSES}, and the webhook expands Deployments and Jobs to pods",
        "validatingWebhookExemptNamespacesLabels": REFUSES,
        "validatingWebhookObjectSelector": REFUSES,
        "validatingWebhookMatchConditions": REFUSES,
        "validatingWebhookCustomRules": REFUSES,
        "validatingWebhookScope": REFUSES,
        "validatingWebhookURL": REFUSES,
        "controllerManager.exemptNamespacePrefixes": REFUSES,
        "disableAudit": "the audit reports objects that break a policy, and the alert GpucAuditLate expects audits",
    },
    folders=(
        parts.Folder("policies/templates", "policies", 15),
        parts.Folder("policies/constraints", "policies", 16),
    ),
    ignored=parts.webhook_certificates(parts.VALIDATING),
    # The chart labels the namespace.
    namespace_labels={}, ineffective={}, ineffective_because="",
    monitor=parts.Monitor(METRICS, {"gatekeeper.sh/system": "yes"}, "PodMonitor"),
    alerts={"policies": policy_alerts},
    alert_labels=lambda cluster: (),
    ready_check=facts.ReadyCheck(
        "All policies are created",
        "get constrainttemplates -o custom-columns='NAME:.metadata.name,CREATED:.status.created'",
    ),
    preparation=None, chapter=None, member_rights=(),
    auditor_rights=(
        ("config.gatekeeper.sh", ("configs",), facts.READ),
        # The kinds of this group have the names of the ConstraintTemplates.
        (CONSTRAINTS, ("*",), facts.READ),
        ("expansion.gatekeeper.sh", ("expansiontemplate",), facts.READ),
        (TEMPLATES, ("constrainttemplates",), facts.READ),
    ),
    calls=None, restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None,
    config_maps=(),
    rehearsal=facts.Rehearsal(
        program="gatekeeper",
        data=(),
        definitions="gatekeeper-crds",
        # Gatekeeper runs without mutation, and the group match has no kind.
        unused_groups=("mutations.gatekeeper.sh", "match.gatekeeper.sh"),
    ),
    needs=facts.nothing,
)  # fmt: skip
