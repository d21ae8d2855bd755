"""Classes for what gpuc knows about the chart of a component: restarts, labels, README chapters, devices of nodes."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster

if TYPE_CHECKING:
    from gpuc.emit.prerequisites.record import Chapter as Prerequisites

READ = ("get", "list", "watch")
PolicyRule = tuple[str, tuple[str, ...], tuple[str, ...]]
"""API group, resources and verbs of a rule of a role."""
Labels = Mapping[str, frozenset[str]]
"""The values of every label of the objects of one kind; an empty set where any value is possible."""
ANY: Final[frozenset[str]] = frozenset()
HELM_LABELS: Labels = {
    "helm.sh/chart": ANY,
    "app.kubernetes.io/instance": ANY,
    "app.kubernetes.io/version": ANY,
    "app.kubernetes.io/managed-by": frozenset(("Helm",)),
}
"""The labels that the template `labels` of `helm create` has, without the name."""
INSTANCE_LABEL: Labels = {"app.kubernetes.io/instance": ANY}
MANAGER_LABEL: Labels = {"control-plane": frozenset(("controller-manager",))}


def named(name: str, *labels: Labels) -> Labels:
    """Returns the given labels together with the label app.kubernetes.io/name of a program."""
    return {key: value for row in labels for key, value in row.items()} | {"app.kubernetes.io/name": frozenset((name,))}


class Calls(Struct, frozen=True):
    """Connections from pods of a chart to pods of tenants. The NetworkPolicies of tenants allow these connections."""

    callers: Mapping[str, str]
    """The labels of the pods of the chart."""
    ports: tuple[int, ...]


class ReadyCheck(Struct, frozen=True):
    """A command in the README that checks whether the objects of a component are ready."""

    statement: str
    command: str
    """The arguments of kubectl."""


class Chapter(Struct, frozen=True):
    """A chapter of the cluster's README about a component: the template chapter.md.j2 in the component's folder."""

    after: Literal["checks", "quotas"]
    """After which chapter it comes: the checks of the cluster, or the chapter that explains how GPUs are counted."""
    values: Callable[[Cluster], dict[str, object]]
    """Returns variables of the template, in addition to the variables of the README."""


class Preparation(Struct, frozen=True):
    """A chapter of the cluster's README about what an engineer prepares for a component before the first sync."""

    place: int
    """The place among the chapters of `gpuc.emit.prerequisites`."""
    chapter: "Callable[[Cluster], Prerequisites]"


class ChartLabels(Struct, frozen=True):
    """The labels of the Services and pods that a chart creates, whatever its Helm values are."""

    services: Labels
    pods: Labels
    relabelling: tuple[str, ...] = ()
    """Keys of the chart's values, at any depth, that change labels or add objects."""
    has_all: bool = True
    """Whether all services and pods that the chart creates have these labels."""

    def of(self, kind: str) -> Labels:
        """Returns the labels of Services for a ServiceMonitor, and the labels of pods for a PodMonitor."""
        return self.services if kind == "ServiceMonitor" else self.pods


class PartialRestart(Struct, frozen=True):
    """Helm values whose change restarts only some programs of a chart, and the effect of this restart."""

    values: tuple[str, ...]
    programs: str
    """The subject and verb of a sentence, for example "audit pod restarts"."""
    effect: str


class Restarts(Struct, frozen=True):
    """Which changed Helm values restart the programs of a chart, and what happens during the restart.

    The fields name a Helm value or a map of Helm values by its path, for example "rbac" or "driver.manager.image".
    """

    in_pods: tuple[str, ...] | None
    """The values that are in pods; None for all values."""
    in_no_pod: tuple[str, ...]
    """The values that are in no pod of the component, although other values of the same map are in a pod."""
    partial: tuple[PartialRestart, ...]
    effect: Callable[[Body], str]
    """Returns what happens while the programs restart, for the Helm values after the change."""


class ConfigMapValue(Struct, frozen=True):
    """The path of a Helm value that describes a ConfigMap: a map with the keys `name`, `create` and `data`."""

    path: tuple[str, ...]
    has_default_key: bool
    """Whether the value `default` is a key of the ConfigMap."""
    mounted_key: str = ""
    """The key that pods mount; empty if they read any key."""
    programs: tuple[str, ...] = ()
    """Parts of the names of other charts, and of images, with the program that reads the ConfigMap."""


class DevicePlugin(NamedTuple):
    """The device plugin that the chart of a component installs."""

    prefix: str
    """The start of the names of the resources that nodes advertise."""
    other_charts: tuple[str, ...]
    """The charts that install the device plugin, without the chart of the component."""
    image: str
    """A part of the name of the plugin's image."""


class Rehearsal(Struct, frozen=True):
    """The program of a chart that `gpuc rehearse` runs on this machine.

    The function `start` in the module of the component in gpuc_rehearsal starts the program.
    """

    program: str
    """The name of the program that `gpuc tools` builds."""
    data: tuple[str, ...]
    """The files and folders of the program's data that `gpuc tools` builds, without the definitions."""
    definitions: str
    """The folder of the CustomResourceDefinitions that `gpuc tools` builds."""
    unused_groups: tuple[str, ...]
    """API groups of these definitions that the rehearsal does not install."""


SYSTEM_NODES = "system-nodes"


class InstalledChart(Struct, frozen=True):
    """The chart of a component as one cluster installs it: its Helm values and its namespace."""

    values: Body
    namespace: str
    documents: Mapping[str, Any]
    """The parsed documents in Helm values, by their text."""
    groups: frozenset[str]
    """The API groups that the charts of the cluster define."""


Needs = Callable[[InstalledChart], Iterator[tuple[str, Path]]]
"""A function.

It yields ids of things outside of the output, such as "system-nodes", each with a path in Helm values.
"""


def nothing(chart: InstalledChart) -> Iterator[tuple[str, Path]]:
    """Yields nothing, for a component whose chart needs nothing from outside of the output."""
    return iter(())
