"""Gatekeeper: Helm values, excluded namespaces, and the policies as ConstraintTemplates and constraints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.components.gatekeeper.alerts import AUDIT_SECONDS, policy_alerts
from gpuc.diagnostics.finding import Path
from gpuc.emit.component import (
    ADMISSION_POLICIES,
    CLUSTER_ROLES,
    CONTROLLER,
    CRD,
    ON_SYSTEM_NODES,
    SYSTEM_PODS,
    SYSTEM_TOLERATIONS,
    Component,
    Folder,
    Monitor,
    webhook_certificate,
)
from gpuc.emit.component_facts import (
    ANY,
    HELM_LABELS,
    READ,
    ChartLabels,
    Labels,
    PartialRestart,
    ReadyCheck,
    Rehearsal,
    Restarts,
    named,
    nothing,
)
from gpuc.emit.pod_deletion import GPU_QUOTA, pod_deletion
from gpuc.emit.policy_facts import FACTS
from gpuc.emit.sync import wave
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, quantity_text
from gpuc.kubernetes.api_groups import ADMISSION_REGISTRATION, CONSTRAINT_API, CONSTRAINTS, TEMPLATES
from gpuc.kubernetes.argocd import OPTIONS
from gpuc.manifest.manifest import Artifact, Body, Manifest, RunsOn, Values
from gpuc.model import Cluster, Tenant
from gpuc.model.names import TENANT_KEY, WHY
from gpuc.objects.object_set import dig
from gpuc.policy.gatekeeper_objects import expansion_templates, template_source
from gpuc.policy.library import Policy

TEMPLATE_WAVE = 0
CONSTRAINT_WAVE = 5

REFUSES = "policies at deny refuse objects"
"""The reason for the objects that the webhook checks."""

AUDIT_CHUNK = 500
"""The number of objects in one list request of the audit. It is the chart's default, on which the memory depends."""


def gatekeeper(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values, the Config, and per policy a ConstraintTemplate and constraints for tenant namespaces."""
    yield _values(cluster)
    yield _config(cluster)
    yield from _expansions(cluster)
    for policy in cluster.policies.values():
        if policy.settings.keys() <= cluster.policy_settings(policy.name).keys():
            yield _template(cluster, policy)
            yield from _constraints(cluster, policy)
    yield from pod_deletion(cluster, _origin(cluster, cluster.policies.get(GPU_QUOTA)), CONSTRAINT_WAVE)


def _values(cluster: Cluster) -> Values:
    # Gatekeeper does not run on nodes of Karpenter: Karpenter cannot create a node while the webhook of Gatekeeper,
    # which checks new nodes, is not running.
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
        "postInstall": {"labelNamespace": {"enabled": True}, "tolerations": SYSTEM_TOLERATIONS},
        "controllerManager": {"exemptNamespaces": list(cluster.platform_namespaces), **ON_SYSTEM_NODES},
        "audit": {**ON_SYSTEM_NODES, "resources": _audit_resources(cluster)},
        # All constraints name their kinds. Without this setting, the audit lists the objects of every kind.
        "auditMatchKindOnly": True,
        "auditInterval": AUDIT_SECONDS,
        "auditChunkSize": AUDIT_CHUNK,
    }
    pods: dict[Path, RunsOn] = {(key,): "system nodes" for key in ("controllerManager", "audit", "postInstall")}
    return Values(cluster.values_file("gatekeeper"), _origin(cluster), "gatekeeper", body, pods=pods)


def _audit_resources(cluster: Cluster) -> Body:
    """Returns the resources of the audit pod: the chart's 512Mi, and 512Mi for each 100 nodes that Karpenter may start.

    The audit reads a chunk of objects at a time, but caches Namespaces and results. The memory is an estimate; the
    request equals the limit, so that the node always has it.
    """
    memory = quantity_text(MEMORY, 512 * MIB * (1 + sum(pool.nodes_max for pool in cluster.pools) // 100))
    return {"requests": {CPU: "100m", MEMORY: memory}, "limits": {MEMORY: memory}}


def _config(cluster: Cluster) -> Manifest:
    # Gatekeeper copies the excluded namespaces of the webhook into every ValidatingAdmissionPolicy, in random order.
    # With more than one entry, Gatekeeper would rewrite these objects forever. The other platform namespaces have the
    # label admission.gatekeeper.sh/ignore.
    # Source: gatekeeper v3.23.0 pkg/controller/config/process/excluder.go, GetExcludedNamespaces
    match = [
        {"processes": ["audit"], "excludedNamespaces": list(cluster.platform_namespaces)},
        {"processes": ["webhook"], "excludedNamespaces": ["kube-system"]},
    ]
    annotations, namespace = wave(TEMPLATE_WAVE), cluster.components["gatekeeper"].namespace
    file, body = cluster.out("policies/templates/config.yaml"), {"spec": {"match": match}}
    api = "config.gatekeeper.sh/v1alpha1"
    return Manifest(file, _origin(cluster), api, "Config", "config", body, namespace, annotations=annotations)


def _expansions(cluster: Cluster) -> Iterator[Manifest]:
    file, origin = cluster.out("policies/templates/expansion.yaml"), _origin(cluster)
    api, kind, annotations = "expansion.gatekeeper.sh/v1beta1", "ExpansionTemplate", wave(TEMPLATE_WAVE)
    for name, spec in expansion_templates():
        yield Manifest(file, origin, api, kind, name, {"spec": spec}, annotations=annotations)


def _template(cluster: Cluster, policy: Policy) -> Manifest:
    return Manifest(
        file=cluster.out(f"policies/templates/{policy.name}.yaml"),
        origin=_origin(cluster, policy),
        api=f"{TEMPLATES}/v1",
        kind="ConstraintTemplate",
        name=policy.kind.lower(),
        annotations=wave(TEMPLATE_WAVE) | {"metadata.gatekeeper.sh/title": policy.title, "description": policy.why},
        body={
            "spec": {
                "crd": {
                    "spec": {
                        "names": {"kind": policy.kind},
                        "validation": {"openAPIV3Schema": _parameter_schema(policy)},
                    }
                },
                # No `operations`: the default is that of the webhook, CREATE and UPDATE. Gatekeeper writes operations
                # of a template in random order, and would rewrite its ValidatingAdmissionPolicy forever.
                # Source: gatekeeper v3.23.0 pkg/drivers/k8scel/transform/make_vap_objects.go, UnsortedList
                "targets": [
                    {
                        "target": "admission.k8s.gatekeeper.sh",
                        "code": [{"engine": "K8sNativeValidation", "source": template_source(policy)}],
                    }
                ],
            }
        },
    )


def _parameter_schema(policy: Policy) -> Body:
    """Returns the schema of the parameters, without `properties` if the policy has no parameters.

    Gatekeeper writes annotations into the ConstraintTemplate and thereby drops empty maps, so the next sync would
    change the object again.

    Source: gatekeeper v3.23.0 pkg/controller/constrainttemplate/constrainttemplate_controller.go,
    updateTemplateWithBlockVAPBGenerationAnnotations
    """
    properties = {parameter.name: parameter.schema for parameter in policy.parameters}
    return {"type": "object", "properties": properties} if properties else {"type": "object"}


def _constraints(cluster: Cluster, policy: Policy) -> Iterator[Manifest]:
    if policy.is_per_tenant:
        for tenant in cluster.tenants:
            selector: Body = {"matchLabels": {TENANT_KEY: tenant.name}}
            parameters = _parameters(cluster, policy, tenant)
            yield _constraint(cluster, policy, f"{policy.name}-{tenant.name}", selector, parameters)
    elif cluster.tenants:
        selector = {"matchExpressions": [{"key": TENANT_KEY, "operator": "Exists"}]}
        yield _constraint(cluster, policy, policy.name, selector, _parameters(cluster, policy, cluster.tenants[0]))


def _constraint(cluster: Cluster, policy: Policy, name: str, selector: Body, parameters: Body) -> Manifest:
    # The kind exists only after Gatekeeper has processed the ConstraintTemplate.
    skip_dry_run = {OPTIONS: "SkipDryRunOnMissingResource=true"}
    spec: Body = {"enforcementAction": cluster.policy_stage(policy.name), "match": policy.match(selector)}
    if parameters:
        spec["parameters"] = parameters
    return Manifest(
        file=cluster.out(f"policies/constraints/{policy.name}.yaml"),
        origin=_origin(cluster, policy),
        api=CONSTRAINT_API,
        kind=policy.kind,
        name=name,
        annotations=wave(CONSTRAINT_WAVE) | skip_dry_run | {WHY: policy.why},
        body={"spec": spec},
    )


def _parameters(cluster: Cluster, policy: Policy, tenant: Tenant) -> Body:
    """Returns all parameters, also empty lists.

    Without parameters, `params` is null. CEL engines treat null differently.
    """
    settings = cluster.policy_settings(policy.name)
    return {parameter.name: _value(parameter.fact, cluster, tenant, settings) for parameter in policy.parameters}


def _value(fact: str, cluster: Cluster, tenant: Tenant, settings: dict[str, Any]) -> Any:
    source, _, key = fact.partition(".")
    return settings[key] if source == "settings" else FACTS[fact](cluster, tenant)


def _origin(cluster: Cluster, policy: Policy | None = None) -> Path:
    """Returns the path in the spec that configures the policy, or the path that configures all policies."""
    if policy and policy.name in cluster.policy_specs:
        return ("spec", "policies", policy.name)
    return ("spec", "policies", "default") if "default" in cluster.policy_specs else ("spec", "policies")


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
RESTARTS = Restarts(
    in_pods=None,
    in_no_pod=(
        *(f"{kind}Webhook{field}" for kind in ("mutating", "validating") for field in _WEBHOOK),
        "audit.exportConnection", "commonAnnotations", "controllerManager.extraRules",
        "controllerManager.networkPolicy", "controllerManager.strategyRollingUpdate", "controllerManager.strategyType",
        "crds", "disableAudit", "disableValidatingWebhook", "enableConnectOperations", "enableDeleteOperations", "pdb",
        "podCountLimit", "postInstall", "postUpgrade", "preInstall", "preUninstall", "rbac", "replicas",
        "resourceQuota", "revisionHistoryLimit", "secretAnnotations", "service", "serviceAccount", "upgradeCRDs",
    ),
    partial=(PartialRestart(_AUDIT, "audit pod restarts", "Gatekeeper continues to check requests"),),
    effect=lambda values: (
        "while no replica answers, the API server refuses requests"
        if dig(values, "validatingWebhookFailurePolicy") == "Fail"
        else "while no replica answers, the API server accepts requests without the policies"
    ),
)  # fmt: skip
"""Source: gatekeeper v3.23.0 charts/gatekeeper/templates: gatekeeper-controller-manager-deployment.yaml,
gatekeeper-audit-deployment.yaml, gatekeeper-validating-webhook-configuration-validatingwebhookconfiguration.yaml"""
_LABELS: Labels = {
    "app": frozenset(("gatekeeper",)), "chart": frozenset(("gatekeeper",)), "gatekeeper.sh/system": frozenset(("yes",)),
    "heritage": frozenset(("Helm",)), "release": ANY,
}  # fmt: skip
CHART_LABELS = ChartLabels(
    services=_LABELS,
    pods={
        **named("gatekeeper", HELM_LABELS, _LABELS),
        "control-plane": frozenset(("audit-controller", "controller-manager")),
        "gatekeeper.sh/operation": frozenset(("audit", "webhook")),
    },
    relabelling=("nameOverride", "commonLabels", "podLabels"),
)
"""Source: gatekeeper v3.23.0 charts/gatekeeper/templates"""

COMPONENT = Component(
    name="gatekeeper",
    title="Gatekeeper",
    section=("spec", "policies"),
    wave=-10,
    artifacts=gatekeeper,
    is_needed=lambda cluster: cluster.spec.policies is not None,
    may_need_refresh=False, keeps_definitions=False,
    chart_cluster_kinds=(
        CRD, *CLUSTER_ROLES, (ADMISSION_REGISTRATION, "ValidatingWebhookConfiguration"),
    ),
    chart_kinds=(
        *CONTROLLER, ("", "Service"), ("", "Secret"), ("", "ResourceQuota"), ("batch", "Job"),
        ("policy", "PodDisruptionBudget"),
    ),
    cluster_kinds=(
        *ADMISSION_POLICIES,
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
        "controllerManager": SYSTEM_PODS,
        "audit": f"{SYSTEM_PODS}, and have memory for the audit of all nodes",
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
        Folder("policies/templates", "policies", 15, "gatekeeper"),
        Folder("policies/constraints", "policies", 16, "gatekeeper"),
    ),
    ignored=(webhook_certificate("ValidatingWebhookConfiguration"),),
    # The chart labels the namespace.
    namespace_labels={}, ineffective={}, ineffective_because="",
    monitor=Monitor(METRICS, {"gatekeeper.sh/system": "yes"}, "PodMonitor"),
    alerts={"policies": policy_alerts},
    alert_labels=lambda cluster: (),
    ready_check=ReadyCheck(
        "All policies are created",
        "get constrainttemplates -o custom-columns='NAME:.metadata.name,CREATED:.status.created'",
    ),
    preparation=None, chapter=None, member_rights=(),
    auditor_rights=(
        ("config.gatekeeper.sh", ("configs",), READ),
        # The kinds of this group have the names of the ConstraintTemplates.
        (CONSTRAINTS, ("*",), READ),
        ("expansion.gatekeeper.sh", ("expansiontemplate",), READ),
        (TEMPLATES, ("constrainttemplates",), READ),
    ),
    frameworks={}, restarts=RESTARTS, hashed_values={}, chart_labels=CHART_LABELS, device_plugin=None,
    config_maps=(),
    rehearsal=Rehearsal(
        program="gatekeeper",
        data=(),
        definitions="gatekeeper-crds",
        # Gatekeeper runs without mutation, and the group match has no kind.
        unused_groups=("mutations.gatekeeper.sh", "match.gatekeeper.sh"),
        replaced_port="",
    ),
    needs=nothing,
)  # fmt: skip
