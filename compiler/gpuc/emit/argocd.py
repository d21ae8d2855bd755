"""Argo CD: one Application per chart and per synced folder, in waves, and the root that applies them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.catalog.records import Component
from gpuc.diagnostics.finding import Path
from gpuc.emit.bootstrap import entry
from gpuc.emit.project import cluster_of, own_cluster, project
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster
from gpuc.model.cluster import ALWAYS_PLATFORM

API = "argoproj.io/v1alpha1"
ORIGIN: Path = ("spec", "delivery")

CHART_WAVES = {"karpenter-crd": -20, "gatekeeper": -10, "karpenter": 0, "gpu-operator": 0, "efa": 0, "kueue": 10}
"""Wave by component: definitions, then who judges, then controllers, then who uses them."""

_ONLY_CHANGES = "ApplyOutOfSyncOnly=true"
_RETRY: Body = {
    "limit": -1,
    "refresh": True,
    "backoff": {"duration": "10s", "factor": 2, "maxDuration": "1m"},
}
"""A failed sync is tried again after 20 s, 40 s, and then every minute, each time with the newest commit.

A limit would end it for good: Argo CD never begins a commit a second time that has failed.

Source: argoproj/argo-cd v3.5.1 controller/appcontroller.go (processRequestedAppOperation, autoSync),
pkg/apis/application/v1alpha1/types.go (NextRetryAt)
"""
_WITHOUT_VALUES = ("karpenter-crd",)
_KEEPS_DEFINITIONS = ("karpenter-crd", "kueue")
"""Charts with CRDs among their templates: pruning one would delete every object of its kind."""
_PRIVILEGED = ("gpu-operator",)
"""Charts whose pods reach into the host, in a namespace of their own."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A synced folder of the cluster's tree."""

    path: str
    wave: int
    component: str = ""
    """Whose namespace objects without one would go to; namespace default where empty."""
    is_kept: bool = False
    """Whether `delivery.prune` decides what happens to objects that left: capacity and tenants."""
    has_folders: bool = False


FOLDERS = (
    Folder("gpu-operator/config", 5, "gpu-operator"),
    Folder("monitoring", 5, has_folders=True),
    Folder("policies/templates", 15, "gatekeeper"),
    Folder("policies/constraints", 16, "gatekeeper"),
    Folder("karpenter/pools", 20, "karpenter", is_kept=True),
    Folder("kueue/config", 25, "kueue", is_kept=True, has_folders=True),
    Folder("kueue/queues", 26, "kueue", is_kept=True),
    Folder("tenants", 30, is_kept=True),
)
"""Every synced folder but apps, in sync order."""


def argocd(cluster: Cluster) -> Iterator[Artifact]:
    """The AppProject, the Applications, and the cluster's entry: the root and what has to exist around it."""
    components, folders = shipped_components(cluster), shipped_folders(cluster)
    yield project(cluster, components)
    for component in components:
        yield _chart(cluster, component)
    for folder in folders:
        yield _folder(cluster, folder)
    yield _root(cluster)
    yield from entry(cluster, components)


def shipped_components(cluster: Cluster) -> tuple[Component, ...]:
    """The charts that the cluster needs, in sync order."""
    needless = set()
    if not cluster.gpu_pools:
        needless.add("gpu-operator")
    if not cluster.efa_pools:
        needless.add("efa")
    return tuple(cluster.components[name] for name in CHART_WAVES if name not in needless)


def shipped_folders(cluster: Cluster) -> tuple[Folder, ...]:
    """The synced folders that the cluster's tree has, in sync order."""
    return tuple(folder for folder in FOLDERS if folder.path != "gpu-operator/config" or cluster.gpu_pools)


def _root(cluster: Cluster) -> Manifest:
    """Applied once by hand, and in nobody's folder: it owns the folder of the others."""
    source = {
        "repoURL": cluster.spec.delivery.repo,
        "targetRevision": cluster.spec.delivery.revision,
        "path": f"{cluster.spec.delivery.path}/{cluster.name}/apps",
    }
    # Applications live beside Argo CD, wherever their objects go. An Application that is pruned leaves its objects
    # alone: none has the finalizer that would delete them.
    destination = own_cluster(cluster.spec.delivery.destination.namespace)
    body = _spec(cluster, {"source": source}, destination, prune=True)
    # A sync that skips Applications which are as Git has them does not wait for their health either.
    body["spec"]["syncPolicy"]["syncOptions"].remove(_ONLY_CHANGES)
    return _application(cluster, cluster.entry("root.yaml"), "root", body)


def _chart(cluster: Cluster, component: Component) -> Manifest:
    """The chart, and from our repository the values that it is rendered with."""
    name, namespace = component.component, component.namespace
    delivery = cluster.spec.delivery
    helm: Body = {"releaseName": component.chart}
    chart: Body = {
        "repoURL": component.repo,
        "chart": component.chart,
        "targetRevision": component.version,
        "helm": helm,
    }
    sources: Body = {"source": chart}
    if component.crds_from not in ("", name):
        helm["skipCrds"] = True
    if name not in _WITHOUT_VALUES:
        helm["valueFiles"] = [f"$values/{delivery.path}/{cluster.name}/{name}/values.yaml"]
        values = {"repoURL": delivery.repo, "targetRevision": delivery.revision, "ref": "values"}
        sources = {"sources": [chart, values]}
    creates = namespace not in ALWAYS_PLATFORM and name != "karpenter-crd"
    prune = name not in _KEEPS_DEFINITIONS
    destination = cluster_of(cluster, namespace)
    body = _spec(cluster, sources, destination, prune=prune, ignored=_chart_differences(name), creates=creates)
    labels = _namespace_labels(name)
    if creates and labels:
        body["spec"]["syncPolicy"]["managedNamespaceMetadata"] = {"labels": labels}
    return _application(cluster, cluster.out(f"apps/{name}.yaml"), name, body, CHART_WAVES[name])


def _namespace_labels(name: str) -> dict[str, str]:
    """Of the namespace that a chart's Application creates; Gatekeeper's chart labels its own."""
    labels = {} if name == "gatekeeper" else {"admission.gatekeeper.sh/ignore": "platform"}
    if name in _PRIVILEGED:
        labels |= {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
    return labels


def _folder(cluster: Cluster, folder: Folder) -> Manifest:
    name = folder.path.replace("/", "-")
    source: Body = {
        "repoURL": cluster.spec.delivery.repo,
        "targetRevision": cluster.spec.delivery.revision,
        "path": f"{cluster.spec.delivery.path}/{cluster.name}/{folder.path}",
    }
    if folder.has_folders:
        source["directory"] = {"recurse": True}
    namespace = cluster.components[folder.component].namespace if folder.component else "default"
    if folder.path == "monitoring":
        namespace = cluster.spec.observability.namespace
    # With "confirm" the objects that people delete carry that themselves.
    prune = not folder.is_kept or cluster.spec.delivery.prune != "never"
    destination = cluster_of(cluster, namespace)
    body = _spec(cluster, {"source": source}, destination, prune=prune, ignored=_folder_differences(folder.path))
    if folder.is_kept:
        # Foreground deletion would hold the operation, and with it every other change, until the last node is gone.
        body["spec"]["syncPolicy"]["syncOptions"].append("PrunePropagationPolicy=background")
    return _application(cluster, cluster.out(f"apps/{name}.yaml"), name, body, folder.wave)


def _application(cluster: Cluster, file: str, name: str, body: Body, number: int | None = None) -> Manifest:
    return Manifest(
        file=file,
        origin=ORIGIN,
        api=API,
        kind="Application",
        name=f"{cluster.name}-{name}",
        namespace=cluster.spec.delivery.destination.namespace,
        annotations={} if number is None else wave(number),
        body=body,
    )


def _spec(
    cluster: Cluster, sources: Body, destination: Body, *, prune: bool, ignored: list[Body] | None = None,
    creates: bool = False,
) -> Body:  # fmt: skip
    options = ["ServerSideApply=true", "RespectIgnoreDifferences=true", "FailOnSharedResource=true"]
    options += [_ONLY_CHANGES, f"CreateNamespace={str(creates).lower()}"]
    spec: Body = {
        "project": cluster.name,
        **sources,
        "destination": destination,
        "syncPolicy": {
            "automated": {"prune": prune, "selfHeal": True},
            "retry": _RETRY,
            "syncOptions": options,
        },
    }
    if ignored:
        spec["ignoreDifferences"] = ignored
    return {"spec": spec}


def _chart_differences(name: str) -> list[Body]:
    """What controllers write into objects of their own chart."""
    if name == "gatekeeper":
        return [_webhook_certificate("ValidatingWebhookConfiguration")]
    if name == "kueue":
        conversion = {
            "group": "apiextensions.k8s.io",
            "kind": "CustomResourceDefinition",
            "jsonPointers": ["/spec/conversion/webhook/clientConfig/caBundle"],
        }
        return [
            _webhook_certificate("MutatingWebhookConfiguration"),
            _webhook_certificate("ValidatingWebhookConfiguration"),
            conversion,
        ]
    return []


def _webhook_certificate(kind: str) -> Body:
    paths = [".webhooks[]?.clientConfig.caBundle"]
    return {"group": "admissionregistration.k8s.io", "kind": kind, "jqPathExpressions": paths}


def _folder_differences(path: str) -> list[Body]:
    """What controllers, and people in an incident, write into our objects."""
    if path == "karpenter/pools":
        return [
            _annotations("karpenter.sh", "NodePool", "karpenter.sh", "nodepool-hash"),
            _annotations("karpenter.k8s.aws", "EC2NodeClass", "karpenter.k8s.aws", "ec2nodeclass-hash"),
        ]
    if path == "gpu-operator/config":
        return [{"group": "nvidia.com", "kind": "ClusterPolicy", "jsonPointers": ["/spec/cdi/default"]}]
    if path == "kueue/queues":
        # A queue that is held by hand stays held.
        return [{"group": "kueue.x-k8s.io", "kind": "ClusterQueue", "jsonPointers": ["/spec/stopPolicy"]}]
    return []


def _annotations(group: str, kind: str, prefix: str, name: str) -> Body:
    pointers = [f"/metadata/annotations/{prefix}~1{name}{suffix}" for suffix in ("", "-version")]
    return {"group": group, "kind": kind, "jsonPointers": pointers}
