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
    """A folder of the cluster's tree that an Application of its own applies."""

    path: str
    """The folder below out/<cluster>/, for example kueue/queues."""
    wave: int
    """The sync wave of the folder's Application, after the wave of the component whose kinds the folder has."""
    component: str = ""
    """The component whose namespace objects without a namespace go to; namespace default where empty."""
    is_protected: bool = False
    """Whether `delivery.prune` decides about objects that left the output: true for capacity, queues and tenants."""
    has_folders: bool = False
    """Whether the folder has folders, which Argo CD then reads too."""
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: fields of gpuc's objects that controllers, and people in an incident, write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One chart that gpuc installs.

    Argo CD applies waves from low to high, and starts a wave once everything before is healthy:

        -30  the AppProject
        -20  charts that hold nothing but CustomResourceDefinitions
        -10  admission control, so that later objects are admitted by it
          0  controllers and device plugins; the right wave for most components
          5  configuration of these controllers
         10  controllers that read what wave 0 advertises, such as Kueue
      15-16  admission policies
         20  node pools
      25-26  flavors and queues
         30  tenants
    """

    name: str
    """The component's key in catalog/releases.json, and its folder below out/<cluster>/."""
    wave: int
    """The sync wave of the chart's Application, one of the waves above."""
    artifacts: Callable[[Cluster], Iterator[Artifact]] | None = None
    """Yields the chart's values and the objects beside the chart; None for a chart of definitions without values."""
    is_needed: Callable[[Cluster], bool] = lambda cluster: True
    """Whether a cluster gets the component; without it every cluster does."""
    keeps_definitions: bool = False
    """Whether CRDs are among the chart's templates. Argo CD then never prunes: a pruned CRD deletes all its objects."""
    cluster_kinds: tuple[Kind, ...] = ()
    """Kinds without a namespace that the chart renders with gpuc's values, hooks included, or the folders hold.

    The AppProject permits these kinds and no others; `helm template` shows what a chart renders.
    """
    kinds: tuple[Kind, ...] = ()
    """The same for kinds with a namespace."""
    folders: tuple[Folder, ...] = ()
    """Folders of objects that the component's controller reads."""
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: fields of the chart's objects that controllers write."""
    namespace_labels: Mapping[str, str] = field(default_factory=lambda: PLATFORM)
    """Labels of the namespace that the Application creates; PRIVILEGED is added for pods that use the host."""

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
