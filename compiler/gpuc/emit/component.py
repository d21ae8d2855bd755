"""The class Component: a Helm chart, its Argo CD settings, and the objects that gpuc emits for the chart.

A component is a folder of gpuc.components. A component of one substrate (the place where a cluster lives, such as a
cloud) is a folder in the folder of the substrate. The module component.py of the folder has the variable COMPONENT.
gpuc finds the folders, so there is no list of components. The file release.json has the repository, chart, version,
namespace and the requests of DaemonSets. values.schema.json is the schema of the Helm values, which
`python -m tests.derive` derives.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Path
from gpuc.emit.component_facts import (
    Calls,
    Chapter,
    ChartLabels,
    ConfigMapValue,
    DevicePlugin,
    Needs,
    PolicyRule,
    Preparation,
    ReadyCheck,
    Rehearsal,
    Restarts,
)
from gpuc.emit.substrate import substrate_output
from gpuc.kubernetes.api_groups import ADMISSION_REGISTRATION, RBAC
from gpuc.manifest.manifest import Artifact, Body, Kind
from gpuc.model import Cluster, once_for_each_cluster
from gpuc.model.names import SYSTEM_TAINT
from gpuc.parts.folders import component_folder, component_folders, module_name, substrate_folder

if TYPE_CHECKING:
    from gpuc.emit.alerts.alert import Rule

CRD: Kind = ("apiextensions.k8s.io", "CustomResourceDefinition")
CLUSTER_ROLES: tuple[Kind, ...] = ((RBAC, "ClusterRole"), (RBAC, "ClusterRoleBinding"))
ADMISSION_POLICIES: tuple[Kind, ...] = (
    (ADMISSION_REGISTRATION, "ValidatingAdmissionPolicy"),
    (ADMISSION_REGISTRATION, "ValidatingAdmissionPolicyBinding"),
)
CONTROLLER: tuple[Kind, ...] = (
    ("", "ServiceAccount"),
    ("apps", "Deployment"),
    (RBAC, "Role"),
    (RBAC, "RoleBinding"),
)
"""Kinds that every chart of a controller renders."""
WEBHOOK_CONTROLLER: tuple[Kind, ...] = (
    *CONTROLLER, ("", "Service"), ("", "Secret"), ("", "ConfigMap"), ("policy", "PodDisruptionBudget"),
)  # fmt: skip
"""Namespaced kinds that the chart of a controller with webhooks and with several replicas renders."""
VALIDATING: Kind = (ADMISSION_REGISTRATION, "ValidatingWebhookConfiguration")
WEBHOOKS: tuple[Kind, ...] = ((ADMISSION_REGISTRATION, "MutatingWebhookConfiguration"), VALIDATING)

SYSTEM_PODS = "the pods run on the system nodes, which belong to no node pool"
"""The reason for affinity and tolerations of controllers."""
SECOND_REPLICA = "a second replica continues if a node fails"
SYSTEM_TOLERATIONS: list[Body] = [{"key": SYSTEM_TAINT, "operator": "Exists"}]

PLATFORM: Mapping[str, str] = {"admission.gatekeeper.sh/ignore": "platform"}
PRIVILEGED: Mapping[str, str] = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")
}
"""Namespace labels for charts whose pods need access to the host."""


def system_affinity(cluster: Cluster) -> Body:
    """Returns the affinity of controllers: they run on the system nodes, which belong to no pool.

    The nodes of pools also have a taint.
    """
    of_no_pool = {"key": substrate_output(cluster).pool_label, "operator": "DoesNotExist"}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [of_no_pool]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def on_system_nodes(cluster: Cluster, name: str = "") -> Body:
    """Returns the Helm values with which a controller runs on the system nodes.

    name: the label app.kubernetes.io/name of the controller. Each replica then avoids the nodes of other replicas.
    Empty for a controller with one replica.
    """
    affinity = system_affinity(cluster)
    if name:
        selector = {"matchLabels": {"app.kubernetes.io/name": name}}
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
        preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
        affinity["podAntiAffinity"] = preferred
    return {"affinity": affinity, "tolerations": SYSTEM_TOLERATIONS}


class Folder(Struct, frozen=True):
    """A folder below out/<cluster>/ for which gpuc emits a separate Argo CD Application."""

    path: str
    """The path below out/<cluster>/, for example kueue/queues."""
    title: str
    """What the folder contains, as words in the table of sync waves.

    In the wave of the chart: "<chart> and its <title>".
    """
    wave: int
    """The sync wave of the folder's Application, after the wave of the chart that defines the folder's kinds."""
    is_protected: bool = False
    """Whether `delivery.prune` applies to objects that left the output. True for pools, queues and tenants."""
    has_subfolders: bool = False
    """Whether Argo CD also reads the subfolders."""
    ignored: tuple[Body, ...] = ()
    """Entries of ignoreDifferences: fields that controllers write, and fields that engineers change in an incident."""


class Monitor(Struct, frozen=True):
    """A ServiceMonitor or a PodMonitor, in the namespace of the chart."""

    endpoints: Body
    """The fields of the spec without the selectors."""
    labels: Mapping[str, str]
    """The labels of the Services or, for a PodMonitor, of the pods."""
    kind: str = "ServiceMonitor"
    build_metric: str = ""
    """A metric that always exists, perhaps with a selector: without it, an alert fires.

    Empty if another alert fires without metrics.
    """


class Component(Struct, frozen=True, kw_only=True):
    """A Helm chart that gpuc installs.

    Argo CD applies sync waves from low to high. A wave starts when all Applications of earlier waves are healthy:

        -30  the AppProject
        -20  charts that contain only CustomResourceDefinitions
        -10  admission control, which checks the objects of all later waves
          0  controllers and device plugins; the usual wave of a component
          5  configuration of these controllers, and controllers that need them
         10  controllers that need the controllers of wave 0, such as Kueue
      15-16  admission policies
         20  node pools
      25-26  flavors and queues
         30  tenants
    """

    name: str
    """The name of the component in its release.json, and its folder below out/<cluster>/."""
    title: str
    """The name in a sentence of the README, for example "Kueue" or "the GPU Operator"."""
    section: Path
    """The section of the spec because of which a cluster needs the component.

    READMEs list components by this section.
    """
    wave: int
    """The sync wave of the chart's Application, one of the waves above."""
    artifacts: Callable[[Cluster], Iterator[Artifact]] | None
    """Yields the Helm values and additional objects. None for a chart that has only CRDs and needs no values."""
    is_needed: Callable[[Cluster], bool]
    """Returns whether a cluster needs the component."""
    may_need_refresh: bool
    """Whether CRDs can keep the Application Progressing after its sync, until the next comparison by Argo CD."""
    keeps_definitions: bool
    """Whether the chart's templates contain CRDs, not only its folder crds/. Argo CD then prunes nothing.

    Argo CD prunes a CRD only if it tracks resources by label, or if the template has a namespace. The deletion of a CRD
    deletes all objects of its kind. So Argo CD must not delete a CRD in these cases either.
    """
    chart_cluster_kinds: tuple[Kind, ...]
    """Cluster-scoped kinds of the objects that the chart renders, hooks included.

    The AppProject allows only the kinds of charts that gpuc installs, and the kinds of the objects that gpuc emits.
    `helm template` with gpuc's values lists the kinds of a chart.
    """
    chart_kinds: tuple[Kind, ...]
    """Namespaced kinds of the objects that the chart renders, hooks included."""
    cluster_kinds: tuple[Kind, ...]
    """Cluster-scoped kinds of the objects that gpuc emits for the component."""
    kinds: tuple[Kind, ...]
    """Namespaced kinds of the objects that gpuc emits for the component."""
    folders: tuple[Folder, ...]
    """Folders of objects that the component's controller reads."""
    ignored: tuple[Body, ...]
    """Entries of ignoreDifferences: fields of the chart's objects that controllers write."""
    reasons: Mapping[str, str]
    """Why the cluster needs the Helm values of gpuc. The key is the path of a value, or of a map that contains values.

    The README of the cluster shows the reasons if another team installs the chart.
    """
    relied_defaults: Mapping[str, str]
    """Why the cluster needs the chart's default of a Helm value that gpuc does not set, by the path of the value."""
    ineffective: Mapping[str, tuple[str, ...]]
    """Paths of Helm values that have no effect with gpuc's values, each with the paths below that have an effect."""
    ineffective_because: str
    """Why these values have no effect, and what a user can do instead; empty if all values have an effect."""
    namespace_labels: Mapping[str, str]
    """Labels of the namespace that the Application creates; PRIVILEGED is added for pods that use the host."""
    monitor: Monitor | None
    """How Prometheus finds the metrics of the chart; None for a chart without metrics."""
    alerts: "Mapping[str, Callable[[Cluster], Iterator[Rule]]]"
    """The functions that yield the alerts and recording rules of a cluster that needs the component, by their group.

    Recording rules are in the group "records"."""
    alert_labels: Callable[[Cluster], tuple[str, ...]]
    """Returns the node labels that the alerts join on, without the label of the pool."""
    restarts: Restarts | None
    """Which Helm values restart the programs of the chart; None for a chart without programs."""
    hashed_values: Mapping[str, str]
    """Helm values that are in the hash of each node: a description by path.

    A change of such a value replaces all nodes.
    """
    chart_labels: ChartLabels | None
    """The labels of the chart's services and pods; None if gpuc does not know them.

    The manifests that lint reads do not contain these services and pods. Without their labels, lint could not
    distinguish a monitor that selects them from a monitor that selects nothing.
    """
    device_plugin: DevicePlugin | None
    """The device plugin that the chart installs."""
    config_maps: tuple[ConfigMapValue, ...]
    """The Helm values that name a ConfigMap."""
    ready_check: ReadyCheck | None
    """How an engineer checks that the component's objects are ready; None if none of the objects has a status."""
    preparation: Preparation | None
    """The chapter about what the component needs from outside of the output; None if other chapters name everything."""
    chapter: Chapter | None
    """The chapter in the README of a cluster that needs the component."""
    member_rights: tuple[PolicyRule, ...]
    """Rules of the roles of all members of tenants, about the kinds of the chart, also in clusters without the chart.

    Members have rights on the kinds of `kueue.frameworks` without this field.
    """
    auditor_rights: tuple[PolicyRule, ...]
    """Rules of the role of auditors about the kinds of the chart, also in clusters without the chart."""
    rehearsal: Rehearsal | None
    """The program of the chart that `gpuc rehearse` runs.

    None if the rehearsal runs no program of the chart, and installs the definitions from gpuc's tables.
    """
    needs: Needs
    """What the program of the chart needs from outside of the output, because of its Helm values."""
    calls: Calls | None
    """The connections of the chart's programs to pods of tenants; None if the programs open no such connections."""

    @property
    def folder(self) -> File:
        """The folder of the component in the package gpuc."""
        return component_folder(self.name)

    @property
    def has_controller(self) -> bool:
        """Whether the chart has a controller. A controller runs on the system nodes."""
        return ("apps", "Deployment") in self.chart_kinds

    def release(self, cluster: Cluster) -> Release:
        """Returns the chart of the component with the version that the cluster uses.

        Raises:
            ValueError: if the release set of the cluster has no version of the component.
        """
        release = cluster.components.get(self.name)
        if release is None:
            raise ValueError(
                f'release set {cluster.spec.releases.set} has no component "{self.name}": '
                "add its row to the file release.json of the component"
            )
        return release


@cache
def components() -> tuple[Component, ...]:
    """Returns all components in sync order, the order in which Argo CD applies them."""
    names = [module_name(folder) for folder in component_folders().values()]
    all_components: list[Component] = [import_module(f"{name}.component").COMPONENT for name in names]
    return tuple(sorted(all_components, key=lambda component: (component.wave, component.name)))


def components_on(substrates: Collection[str] | None) -> tuple[Component, ...]:
    """Returns the components that clusters on some substrates can have, in the order in which Argo CD applies them.

    substrates: the names of folders in gpuc.substrates, for example "on_premises"; None for all substrates.
    """
    everywhere = substrates is None
    return tuple(row for row in components() if everywhere or substrate_folder(row.folder) in ("", *(substrates or ())))


def component_named(name: str) -> Component | None:
    """Returns the component with a name; None for another name, for example of a chart that a spec adds."""
    return next((component for component in components() if component.name == name), None)


@once_for_each_cluster
def needed_components(cluster: Cluster) -> tuple[Component, ...]:
    """Returns the components that the cluster needs, in the order in which Argo CD applies them."""
    there = components_on([cluster.spec.cloud.substrate.folder])
    return tuple(component for component in there if component.is_needed(cluster))


def by_section(components: Iterable[Component]) -> list[Component]:
    """Returns components sorted by the path of their section in the spec."""
    return sorted(components, key=lambda component: component.section)


def webhook_certificates(*kinds: Kind) -> tuple[Body, ...]:
    """Returns entries of ignoreDifferences for the CA certificates that controllers write into their webhooks."""
    paths = [".webhooks[]?.clientConfig.caBundle"]
    return tuple({"group": group, "kind": kind, "jqPathExpressions": paths} for group, kind in kinds)


def secured_metrics(**fields: Any) -> Body:
    """Returns the endpoints of a ServiceMonitor for metrics that need a token. `fields` are further fields.

    Prometheus authenticates with the token of its service account, and does not verify the self-signed certificate.
    """
    token = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    secured = {"bearerTokenFile": token, "tlsConfig": {"insecureSkipVerify": True}}
    return {"endpoints": [{"port": "https", "scheme": "https", "path": "/metrics", **secured, **fields}]}
