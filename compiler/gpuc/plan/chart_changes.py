"""The charts that change or that Argo CD or another team begins to install, and what restarts their programs.

Source: kueue v0.19.2 charts/kueue/templates/manager/manager.yaml (config-checksum), charts/kueue/templates/webhook;
karpenter-provider-aws v1.14.1 charts/karpenter/templates/deployment.yaml; gatekeeper v3.23.0
charts/gatekeeper/templates: gatekeeper-controller-manager-deployment.yaml, gatekeeper-audit-deployment.yaml,
gatekeeper-validating-webhook-configuration-validatingwebhookconfiguration.yaml; NVIDIA/gpu-operator v26.7.0
deployments/gpu-operator: templates/operator.yaml, templates/plugin_config.yaml, templates/dcgm_exporter_config.yaml,
charts/node-feature-discovery/templates; aws/eks-charts v0.0.242
stable/aws-efa-k8s-device-plugin/templates/daemonset.yaml
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gpuc.cluster.application import ARGO, application_in
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.plan.applications import chart_of, component_of, kept_applications
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import FieldChange
from gpuc.plan.impact import Raised

_IMAGE = ("image", "repository", "version")
_IN_PODS = {
    "gpu-operator": (
        "operator", "nfd.enabled", "node-feature-discovery", *(f"driver.manager.{key}" for key in _IMAGE),
        *(f"validator.{key}" for key in _IMAGE),
    ),
}  # fmt: skip
"""The values that are in pods, by component. The others are in ConfigMaps and in the ClusterPolicy."""
_WEBHOOK = (
    "Annotations", "CheckIgnoreFailurePolicy", "CustomRules", "ExemptNamespacesLabels", "FailurePolicy",
    "MatchConditions", "ObjectSelector", "ReinvocationPolicy", "Scope", "SubResources", "TimeoutSeconds", "URL",
)  # fmt: skip
_NOT_IN_PODS = {
    "efa": ("updateStrategy",),
    "gatekeeper": (
        *(f"{kind}Webhook{field}" for kind in ("mutating", "validating") for field in _WEBHOOK),
        "audit.exportConnection", "commonAnnotations", "controllerManager.extraRules",
        "controllerManager.networkPolicy", "controllerManager.strategyRollingUpdate", "controllerManager.strategyType",
        "crds", "disableAudit", "disableValidatingWebhook", "enableConnectOperations", "enableDeleteOperations", "pdb",
        "podCountLimit", "postInstall", "postUpgrade", "preInstall", "preUninstall", "rbac", "replicas",
        "resourceQuota", "revisionHistoryLimit", "secretAnnotations", "service", "serviceAccount", "upgradeCRDs",
    ),
    "gpu-operator": (
        "node-feature-discovery.gc.replicaCount", "node-feature-discovery.master.replicaCount",
        "node-feature-discovery.postDeleteCleanup", "node-feature-discovery.prometheus",
        "node-feature-discovery.worker.updateStrategy", "operator.cleanupCRD", "operator.defaultGPUMode",
        "operator.metrics", "operator.runtimeClass", "operator.upgradeCRD", "operator.use_ocp_driver_toolkit",
    ),
    "karpenter": (
        "additionalAnnotations", "additionalClusterRoleRules", "additionalLabels", "podDisruptionBudget", "replicas",
        "revisionHistoryLimit", "service", "serviceAccount.annotations", "serviceMonitor", "strategy",
    ),
    "kueue": (
        "certManager", "controllerManager.podDisruptionBudget", "controllerManager.replicas",
        "controllerManager.strategy", "enableKueueViz", "enableMutatingAdmissionPolicy", "enablePrometheus",
        "enableVisibilityAPF", "enableVisibilityAuthReaderRoleBinding", "kueueViz", "metrics", "metricsService",
        "mutatingWebhook", "webhookService",
    ),
}  # fmt: skip
"""The values that are in no pod of the component, by component. KueueViz has its own pods."""
_AUDIT = (
    "audit", "auditChunkSize", "auditEventsInvolvedNamespace", "auditFromCache", "auditInterval", "auditMatchKindOnly",
    "auditPodAnnotations", "constraintViolationsLimit", "exportBackend", "externalCertInjection",
)  # fmt: skip
"""The values of Gatekeeper that are only in the audit pod, which answers no requests."""
_EFFECTS = {
    "efa": "the device plugin of EFA restarts on one node after the other; pods that run keep their devices",
    "gpu-operator": "pods that run keep their GPUs",
    "karpenter": "until a new replica leads, Karpenter starts and replaces no nodes; nodes that run stay",
}


def restarting_values(pair: Pair) -> list[FieldChange]:
    """Returns the changed Helm values with which the programs of a component restart."""
    if not pair.is_changed:
        return []
    known, others = _IN_PODS.get(pair.name), _NOT_IN_PODS.get(pair.name, ())
    return [
        field for field in pair.leaves if (known is None or _is_one_of(field, known)) and not _is_one_of(field, others)
    ]


def is_only_audit(component: str, fields: Sequence[FieldChange]) -> bool:
    """Returns whether values of Gatekeeper restart only the audit pod."""
    return component == "gatekeeper" and all(_is_one_of(field, _AUDIT) for field in fields)


def restart_effect(change: Change, component: str) -> str:
    """Returns what happens while the programs of a component restart; an empty string for an unknown component."""
    pair = change.values_of(component)
    values = pair.after.body if pair and pair.after else {}
    match component:
        case "gatekeeper" if dig(values, "validatingWebhookFailurePolicy") == "Fail":
            return "while no replica answers, the API server refuses requests"
        case "gatekeeper":
            return "while no replica answers, the API server accepts requests without the policies"
        case "kueue":
            replicas = dig(values, "controllerManager", "replicas")
            refused = (
                "" if isinstance(replicas, int) and replicas > 1 else "; the API server refuses new jobs until then"
            )
            return f"until a new replica leads, Kueue admits no workload; workloads that run continue{refused}"
    return _EFFECTS.get(component, "")


def _is_one_of(field: FieldChange, values: Iterable[str]) -> bool:
    return any(field.is_below(*value.split(".")) for value in values)


_RELEASES = ("spec", "releases")


@dataclass(frozen=True)
class ChartChange:
    """A chart with another version."""

    application: Manifest
    """The Application after the change."""
    component: str
    before: str
    after: str
    details: tuple[str, ...]
    effect: str
    """What happens with the programs of the component."""
    cause: Path
    """The path of the version in the spec; empty if the spec does not name it."""
    path: Path
    """The path of the version in the Application."""

    @property
    def is_older(self) -> bool:
        """Whether the new version is older."""
        return numbers(self.after) < numbers(self.before)

    def raised(self, version: str, effect: str) -> Raised:
        """Returns an impact of the other version."""
        message = f"{version} {self.after} instead of {self.before}; {effect}"
        manifest, path = (None, self.cause) if self.cause else (self.application, self.path)
        return Raised(f"component {self.component}", message, manifest, path, self.details)


def chart_changes(change: Change) -> Iterator[ChartChange]:
    """Yields the charts of both states whose version differs."""
    for before, after in kept_applications(change):
        old, new = before.chart, after.chart
        if old and new and old.chart == new.chart and old.revision != new.revision:
            component = component_of(change, after.name)
            is_definitions = new.chart.endswith("-crd")
            effect = "its CustomResourceDefinitions change" if is_definitions else "its programs restart"
            details, cause = tuple(_demands(change, component)), _cause(change, component)
            path = (*new.path, "targetRevision")
            yield ChartChange(after.manifest, component, old.revision, new.revision, details, effect, cause, path)


def _cause(change: Change, component: str) -> Path:
    """Returns the changed version of a component in the spec, or else the changed release."""
    own = (*_RELEASES, "components", component)
    changed = change.changed_paths(*_RELEASES)
    return own if own in changed else next((path for path in changed if path[:3] != own[:3]), ())


def _demands(change: Change, component: str) -> Iterator[str]:
    """Yields what stops during the change of a version, and what the new version demands."""
    if effect := restart_effect(change, component):
        yield effect
    cluster = change.after.cluster
    release = cluster.components.get(component) if cluster else None
    if release is None:
        return
    if release.kubernetes_min or release.kubernetes_max:
        last = f" to {release.kubernetes_max}" if release.kubernetes_max else " or newer"
        known = {
            row.version for rows in change.after.objects.catalog.releases.values() for row in rows.values()
            if row.component == release.component
        }  # fmt: skip
        tested = "" if release.version in known else ", as the version that gpuc knows"
        yield f"{component} supports Kubernetes {release.kubernetes_min or '?'}{last}{tested}"
    if release.crds_from and release.crds_from != component:
        yield f"its definitions are in component {release.crds_from}, which must have the same version"


def numbers(version: str) -> tuple[int, ...]:
    """Returns the first three numbers of a version."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


Installer = Literal["Argo CD", "another team", ""]


class Installation(NamedTuple):
    """The chart of a component whose installer changes."""

    component: str
    pair: Pair
    """The Application of the chart."""
    before: Installer
    after: Installer
    """An empty string if the cluster does not need the component."""

    @property
    def chart(self) -> str:
        """The chart and its version."""
        source = chart_of(self.pair.manifest)
        return f"{source.chart} {source.revision}" if source else ""

    @property
    def namespace(self) -> str:
        """The namespace of the chart."""
        return application_in(self.pair.manifest).destination.namespace or "(none)"

    def raised(self, change: Change, message: str, details: tuple[str, ...]) -> Raised:
        """Returns an impact at the field `managed` of the spec if it changes, or else at the Application."""
        path: Path = ("spec", "components", self.component, "managed")
        manifest, path = (None, path) if path in change.changed_paths(*path) else (self.pair.manifest, ())
        return Raised(f"component {self.component}", message, manifest, path, details)


def values_of_other_team(manifest: Manifest | None) -> bool:
    """Returns whether Helm values are for a chart that another team installs: they are in clusters/."""
    return manifest is not None and manifest.file.startswith("clusters/")


def changed_installations(change: Change) -> Iterator[Installation]:
    """Yields the charts whose Application is added or removed, in clusters that stay."""
    if not (change.before.exists and change.after.exists):
        return
    for pair in change.pairs(ARGO, "Application"):
        is_in_both = change.before.application(pair.name) and change.after.application(pair.name)
        if is_in_both or not chart_of(pair.manifest):
            continue
        component = component_of(change, pair.name)
        values = change.values_of(component)
        others = (values.after if pair.is_removed else values.before) if values else None
        other: Installer = "another team" if values_of_other_team(others) else ""
        yield Installation(component, pair, *(("Argo CD", other) if pair.is_removed else (other, "Argo CD")))
