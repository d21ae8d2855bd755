"""AppProjects of Argo CD: the sources, destinations and kinds that Applications may use.

The AppProject of the platform permits all kinds that gpuc emits, in all namespaces. Each Application for objects of
users has its own AppProject, which permits only the kinds and namespaces that the fleet declares.
"""

from collections.abc import Iterable
from itertools import chain

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.emit.component import CLUSTER_ROLES, Component
from gpuc.emit.network import needs_cilium_policies
from gpuc.emit.network_objects import CILIUM_POLICY
from gpuc.emit.notify import KIND as NOTIFY
from gpuc.emit.substrate import substrate_output
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import RBAC
from gpuc.manifest.manifest import Body, Kind, Manifest
from gpuc.model import Cluster
from gpuc.spec.platform import OWN_SERVER

API = "argoproj.io/v1alpha1"
OWN_CLUSTER_KINDS: tuple[Kind, ...] = (("", "Namespace"),)
"""Cluster-scoped kinds that do not belong to a component."""

OWN_KINDS: tuple[Kind, ...] = (("argoproj.io", "AppProject"), ("argoproj.io", "Application"))
"""Namespaced kinds that do not belong to a component."""

MONITORING_KINDS: tuple[Kind, ...] = tuple(
    ("monitoring.coreos.com", kind) for kind in ("PodMonitor", "PrometheusRule", "ServiceMonitor")
)
"""Kinds of the objects in monitoring/, without notifications."""

TENANT_KINDS: tuple[Kind, ...] = (
    ("", "ConfigMap"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("networking.k8s.io", "NetworkPolicy"),
    (RBAC, "Role"),
    (RBAC, "RoleBinding"),
)
"""Namespaced kinds of the objects in tenants/ that do not belong to a component."""

PRIORITY_CLASS: Kind = ("scheduling.k8s.io", "PriorityClass")
"""The kind of the PriorityClasses of pools in tenants/."""

TRAINING_RUNTIME: Kind = ("trainer.kubeflow.org", "TrainingRuntime")
"""The kind of the training runtimes in tenants/."""
VOLUME: Kind = ("", "PersistentVolume")
CLAIM: Kind = ("", "PersistentVolumeClaim")
"""The kind of the volume claims of namespaces in tenants/."""

SERVICE_ACCOUNT: Kind = ("", "ServiceAccount")
"""The kind of ServiceAccounts with IAM roles in tenants/."""


class Permitted(Struct, frozen=True):
    """The repositories, namespaces and kinds that an AppProject permits."""

    repositories: frozenset[str]
    namespaces: frozenset[str]
    cluster_kinds: frozenset[Kind]
    """Cluster-scoped kinds, by API group and kind."""
    kinds: frozenset[Kind] | None
    """Namespaced kinds; None for all kinds that are not denied."""
    denied: frozenset[Kind] = frozenset()
    """Namespaced kinds that the AppProject denies."""


class Delivered(Struct, frozen=True):
    """An Application for objects or charts of users: what Argo CD applies, where and when."""

    name: str
    """The name of the Application and of the AppProject, without the name of the cluster."""
    origin: Path
    description: str
    sources: Body
    """The map with the field `source` or `sources`."""
    namespace: str
    """The namespace of the destination."""
    wave: int
    prune: bool
    creates_namespace: bool = False


def project(cluster: Cluster, components: tuple[Component, ...]) -> Manifest:
    """Returns the AppProject of the platform, which all Applications of gpuc use."""
    delivery = cluster.spec.delivery
    charts = [component for component in components if cluster.is_managed(component.name)]
    cluster_kinds = {*OWN_CLUSTER_KINDS, *chain.from_iterable(component.cluster_kinds for component in components)}
    cluster_kinds |= {*chain.from_iterable(component.chart_cluster_kinds for component in charts)}
    cluster_kinds |= {*substrate_output(cluster).cluster_kinds}
    cluster_kinds |= {*CLUSTER_ROLES} if cluster.spec.auditors else set()
    kinds = {*OWN_KINDS, *chain.from_iterable(component.kinds for component in components)}
    kinds |= {*chain.from_iterable(component.chart_kinds for component in charts)}
    observability = cluster.spec.observability
    kinds |= {*MONITORING_KINDS, ("", "ConfigMap")} if observability else set()
    kinds |= {NOTIFY} if observability and observability.notify else set()
    kinds |= {*TENANT_KINDS} if cluster.tenants else set()
    has_classes = cluster.tenants and any(pool.priority_class for pool in cluster.pools)
    has_classes = has_classes or any(priority.pods for priority in cluster.spec.priorities.values())
    cluster_kinds |= {PRIORITY_CLASS} if has_classes else set()
    kinds |= {SERVICE_ACCOUNT} if any(namespace.spec.service_accounts for _, namespace in cluster.namespaces) else set()
    kinds |= {TRAINING_RUNTIME} if any(tenant.runs for tenant in cluster.tenants) else set()
    has_volumes = any(namespace.spec.volumes for _, namespace in cluster.namespaces)
    cluster_kinds |= {VOLUME} if has_volumes else set()
    kinds |= {CLAIM} if has_volumes else set()
    kinds |= {CILIUM_POLICY} if needs_cilium_policies(cluster) else set()
    # All namespaces, because a list of namespaces would change with the tenants. If Argo CD then synced the tenants
    # before the AppProject, the sync would fail for a new namespace, and would ignore objects of a removed namespace.
    destinations = [target_cluster(cluster, "*")]
    if not delivery.destination.is_own_cluster:
        destinations.append(argocd_cluster(delivery.destination.namespace))
    description = f"GPU platform of {cluster.name}; generated by gpuc from {cluster.file}"
    repositories = {delivery.repo, *(component.release(cluster).repo for component in charts)}
    body = _permitted(description, repositories, destinations, cluster_kinds)
    body["namespaceResourceWhitelist"] = _kinds(kinds)
    return _manifest(cluster, "project", cluster.name, ("spec", "delivery"), body)


def own_project(cluster: Cluster, delivered: Delivered, permitted: Permitted) -> Manifest:
    """Returns the AppProject of one Application for objects or charts of users."""
    namespaces = sorted({delivered.namespace, *permitted.namespaces})
    destinations = [target_cluster(cluster, name) for name in namespaces]
    body = _permitted(delivered.description, permitted.repositories, destinations, permitted.cluster_kinds)
    if permitted.kinds:
        body["namespaceResourceWhitelist"] = _kinds(permitted.kinds)
    # An empty whitelist would permit all kinds after a program has written the AppProject again, because the field
    # has the JSON option omitempty: argo-cd v3.5.7 pkg/apis/application/v1alpha1/types.go (AppProjectSpec).
    denied = permitted.denied if permitted.kinds != frozenset() else {("*", "*")}
    if denied:
        body["namespaceResourceBlacklist"] = _kinds(denied)
    return _manifest(cluster, delivered.name, f"{cluster.name}-{delivered.name}", delivered.origin, body)


def _permitted(
    description: str, repositories: Iterable[str], destinations: list[Body], cluster_kinds: Iterable[Kind]
) -> Body:
    return {
        "description": description,
        "sourceRepos": sorted(repositories),
        "destinations": destinations,
        "clusterResourceWhitelist": _kinds(cluster_kinds),
    }


def _manifest(cluster: Cluster, file: str, name: str, origin: Path, spec: Body) -> Manifest:
    """Returns an AppProject. AppProjects are in the first sync wave."""
    namespace, annotations = cluster.spec.delivery.destination.namespace, wave(-30)
    file, body = cluster.out(f"apps/{file}.yaml"), {"spec": spec}
    return Manifest(file, origin, API, "AppProject", name, body, namespace, annotations=annotations)


def target_cluster(cluster: Cluster, namespace: str) -> Body:
    """Returns the field `destination` of an Application: a namespace of the cluster that the spec describes."""
    destination = cluster.spec.delivery.destination
    reference = {"name": destination.name} if destination.server is None else {"server": destination.server}
    return {**reference, "namespace": namespace}


def argocd_cluster(namespace: str) -> Body:
    """Returns the field `destination` of an Application: a namespace of the cluster in which Argo CD runs."""
    return {"server": OWN_SERVER, "namespace": namespace}


def _kinds(kinds: Iterable[Kind]) -> list[Body]:
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]
