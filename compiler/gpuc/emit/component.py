"""Component: a Helm chart, its Argo CD settings, and the objects that gpuc emits for it.

Each module of this package with a COMPONENT defines a component; there is no central list. The repository, chart,
version, namespace and DaemonSet requests are in catalog/releases.json, under the name of the component.
`python -m gpuc.catalog.schemas.derive` derives the schemas of the values and of the custom resources.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module

from gpuc.catalog.records import Release
from gpuc.manifest.manifest import Artifact, Body
from gpuc.model import Cluster

Kind = tuple[str, str]
"""API group and kind."""

CRD: Kind = ("apiextensions.k8s.io", "CustomResourceDefinition")
CLUSTER_ROLES: tuple[Kind, ...] = tuple(
    ("rbac.authorization.k8s.io", kind) for kind in ("ClusterRole", "ClusterRoleBinding")
)
CONTROLLER: tuple[Kind, ...] = (
    ("", "ServiceAccount"),
    ("apps", "Deployment"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
"""Kinds that every chart of a controller renders."""

PLATFORM: Mapping[str, str] = {"admission.gatekeeper.sh/ignore": "platform"}
PRIVILEGED: Mapping[str, str] = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")
}
"""Namespace labels for charts whose pods need access to the host."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder below out/<cluster>/ that Argo CD syncs."""

    path: str
    wave: int
    component: str = ""
    """The component whose namespace is the default namespace of the objects. If empty: namespace default."""
    is_protected: bool = False
    """Whether `delivery.prune` controls the deletion of its objects: capacity and tenants."""
    has_folders: bool = False
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: fields that controllers, or engineers in an incident, change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A chart that gpuc installs."""

    name: str
    """The key in catalog/releases.json, and the name of the folder below out/<cluster>/."""
    wave: int
    """The sync wave of its Application. The order is CRDs, admission control, controllers, users of the controllers."""
    artifacts: Callable[[Cluster], Iterator[Artifact]] | None = None
    """Emits the values and the other objects. None for a chart that has only CRDs and no values."""
    is_needed: Callable[[Cluster], bool] = lambda cluster: True
    keeps_definitions: bool = False
    """Whether the templates include CRDs. Argo CD must not prune CRDs: that deletes all objects of the kind."""
    cluster_kinds: tuple[Kind, ...] = ()
    """Cluster-scoped kinds that the chart (hooks included) or the folders contain."""
    kinds: tuple[Kind, ...] = ()
    """Namespaced kinds that the chart (hooks included) or the folders contain."""
    folders: tuple[Folder, ...] = ()
    """Synced folders with objects for this component."""
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: fields that controllers change in objects of the chart."""
    namespace_labels: Mapping[str, str] = field(default_factory=lambda: PLATFORM)
    """Labels of the namespace that the Application creates."""

    def release(self, cluster: Cluster) -> Release:
        """Return the chart of the component in the release set of the cluster.

        Raises:
            ValueError: if the release set has no row for the component.
        """
        release = cluster.components.get(self.name)
        if release is None:
            raise ValueError(
                f'release set {cluster.spec.releases.set} has no component "{self.name}": '
                "add its row to catalog/releases.json"
            )
        return release


@cache
def components() -> tuple[Component, ...]:
    """Return all components, in sync order."""
    files = sorted(os.listdir(os.path.dirname(__file__)))
    modules = [import_module(f"{__package__}.{file[:-3]}") for file in files if file.endswith(".py")]
    found: list[Component] = [module.COMPONENT for module in modules if hasattr(module, "COMPONENT")]
    return tuple(sorted(found, key=lambda component: (component.wave, component.name)))


def needed_components(cluster: Cluster) -> tuple[Component, ...]:
    """Return the components that the cluster needs, in sync order."""
    return tuple(component for component in components() if component.is_needed(cluster))


def webhook_certificate(kind: str) -> Body:
    """Return an entry of ignoreDifferences for the CA certificate that a controller writes into its webhooks."""
    paths = [".webhooks[]?.clientConfig.caBundle"]
    return {"group": "admissionregistration.k8s.io", "kind": kind, "jqPathExpressions": paths}
