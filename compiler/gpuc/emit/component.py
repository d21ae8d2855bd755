"""A component: one chart, what Argo CD has to know of it, and what is emitted beside it.

Each module of this package that has a COMPONENT is a component; nothing lists them. Facts with a source, which the
model reads as well, are rows of catalog/releases.json under the component's name: repository, chart, version,
namespace, and the requests of its DaemonSets. The schema of the chart's values and those of its kinds are derived:
`python -m gpuc.catalog.schemas.derive`.
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
"""API group, kind."""

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
"""What every chart of a controller renders."""

PLATFORM: Mapping[str, str] = {"admission.gatekeeper.sh/ignore": "platform"}
PRIVILEGED: Mapping[str, str] = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")
}
"""For charts whose pods reach into the host, in a namespace of their own."""


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
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: what controllers, and people in an incident, write into our objects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One chart that gpuc installs."""

    name: str
    """Its key in catalog/releases.json, and its folder below out/<cluster>/."""
    wave: int
    """The sync wave of its Application: definitions, then admission control, then controllers, then their users."""
    artifacts: Callable[[Cluster], Iterator[Artifact]] | None = None
    """Its values and the objects beside its chart; None for a chart of definitions, which has no values."""
    is_needed: Callable[[Cluster], bool] = lambda cluster: True
    keeps_definitions: bool = False
    """Whether CRDs are among its templates: pruning one would delete every object of its kind."""
    cluster_kinds: tuple[Kind, ...] = ()
    """Kinds of the cluster's scope that its chart renders with our values, hooks included, or its folders hold."""
    kinds: tuple[Kind, ...] = ()
    """The same with a namespace."""
    folders: tuple[Folder, ...] = ()
    """Synced folders with objects of its kinds."""
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: what controllers write into objects of the chart."""
    namespace_labels: Mapping[str, str] = field(default_factory=lambda: PLATFORM)
    """Of the namespace that its Application creates."""

    def release(self, cluster: Cluster) -> Release:
        """Its chart in the cluster's release set.

        Raises:
            ValueError: when the set has no row for it.
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
    """Every component, in sync order."""
    files = sorted(os.listdir(os.path.dirname(__file__)))
    modules = [import_module(f"{__package__}.{file[:-3]}") for file in files if file.endswith(".py")]
    found: list[Component] = [module.COMPONENT for module in modules if hasattr(module, "COMPONENT")]
    return tuple(sorted(found, key=lambda component: (component.wave, component.name)))


def needed_components(cluster: Cluster) -> tuple[Component, ...]:
    """Those that the cluster needs, in sync order."""
    return tuple(component for component in components() if component.is_needed(cluster))


def webhook_certificate(kind: str) -> Body:
    """Differences that a controller makes when it writes its certificate into its own webhooks."""
    paths = [".webhooks[]?.clientConfig.caBundle"]
    return {"group": "admissionregistration.k8s.io", "kind": kind, "jqPathExpressions": paths}
