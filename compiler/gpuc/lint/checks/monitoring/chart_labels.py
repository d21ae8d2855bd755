"""Labels of the services and pods that Helm charts create, for the checks of ServiceMonitors and PodMonitors.

The tables list only labels that every release of a chart has. A chart whose values change labels counts as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from gpuc.cluster.application import ARGO, applications
from gpuc.objects.object_set import ObjectSet, dig

Labels = Mapping[str, frozenset[str]]
"""The values of every label of the objects of one kind; an empty set where any value is possible."""
ANY: Final[frozenset[str]] = frozenset()
_HELM: Labels = {
    "helm.sh/chart": ANY,
    "app.kubernetes.io/instance": ANY,
    "app.kubernetes.io/version": ANY,
    "app.kubernetes.io/managed-by": frozenset(("Helm",)),
}


class ChartLabels(NamedTuple):
    """The labels of the objects that a chart creates."""

    services: Labels
    pods: Labels
    relabelling: tuple[str, ...] = ()
    """Keys of the chart's values, at any depth, that change labels or add objects."""
    has_all: bool = True
    """Whether all services and pods that the chart creates have these labels."""

    def of(self, kind: str) -> Labels:
        """Returns the labels of services for the kind ServiceMonitor, and the labels of pods for PodMonitor."""
        return self.services if kind == "ServiceMonitor" else self.pods


_MANAGER: Labels = {"control-plane": frozenset(("controller-manager",))}
_GATEKEEPER: Labels = {
    "app": frozenset(("gatekeeper",)), "chart": frozenset(("gatekeeper",)), "gatekeeper.sh/system": frozenset(("yes",)),
    "heritage": frozenset(("Helm",)), "release": ANY,
}  # fmt: skip
_DCGM = frozenset(("nvidia-dcgm-exporter",))


def _with(name: str, *labels: Labels) -> Labels:
    """Returns labels with the name of a program."""
    return {key: value for row in labels for key, value in row.items()} | {"app.kubernetes.io/name": frozenset((name,))}


_INSTANCE: Labels = {"app.kubernetes.io/instance": ANY}
_KUEUE = frozenset(("metrics-service", "webhook-service", "visibility-service"))
CHARTS: Mapping[str, ChartLabels] = {
    "kueue": ChartLabels(
        services=_with("kueue", _HELM, _MANAGER, {"app.kubernetes.io/component": _KUEUE}),
        pods=_with("kueue", _MANAGER, _INSTANCE),
        relabelling=("nameOverride", "enableKueueViz"),
    ),
    "gatekeeper": ChartLabels(
        services=_GATEKEEPER,
        pods={
            **_with("gatekeeper", _HELM, _GATEKEEPER),
            "control-plane": frozenset(("audit-controller", "controller-manager")),
            "gatekeeper.sh/operation": frozenset(("audit", "webhook")),
        },
        relabelling=("nameOverride", "commonLabels", "podLabels"),
    ),
    "karpenter": ChartLabels(
        services=_with("karpenter", _HELM),
        pods=_with("karpenter", _INSTANCE),
        relabelling=("nameOverride", "additionalLabels", "podLabels"),
    ),
    "karpenter-crd": ChartLabels(services={}, pods={}),
    "gpu-operator": ChartLabels({"app": _DCGM, "app.kubernetes.io/component": _DCGM}, {"app": _DCGM}, has_all=False),
}
"""The labels of the objects of a chart, by the chart's name.

Source: templates of kueue v0.19.2 charts/kueue, gatekeeper v3.23.0 charts/gatekeeper and karpenter-provider-aws v1.14.1
charts/karpenter; NVIDIA/gpu-operator assets/state-dcgm-exporter
"""


class InstalledCharts:
    """The charts that Applications install, by namespace."""

    def __init__(self, objects: ObjectSet) -> None:
        self._charts: dict[str, list[str]] = {}
        self._relabelled = {name for name, row in CHARTS.items() if _sets(objects.values.get(name), row.relabelling)}
        for application in applications(objects.of(ARGO, "Application")):
            for source in application.sources:
                chart = source.chart.rpartition("/")[2]
                if not chart:
                    continue
                self._charts.setdefault(application.destination.namespace, []).append(chart)
                labels = CHARTS.get(chart)
                if labels is not None and _sets(
                    dig(source.value, "helm"), (*labels.relabelling, "values", "parameters")
                ):
                    self._relabelled.add(chart)  # values in a string or in parameters are not parsed

    def names(self, namespace: str) -> list[str]:
        """Returns the names of all charts in a namespace, including charts without known labels."""
        return self._charts.get(namespace, [])

    @cached_property
    def namespaces(self) -> list[str]:
        """The namespaces with a chart whose labels are known."""
        return [name for name, charts in self._charts.items() if not CHARTS.keys().isdisjoint(charts)]

    def labels(self, namespace: str, kind: str) -> list[Labels]:
        """Returns the labels that a kind of monitor can select in a namespace, one item for every known chart."""
        return [CHARTS[chart].of(kind) for chart in self.names(namespace) if chart in CHARTS]

    def are_known(self, namespace: str) -> bool:
        """Returns whether the labels of all charts in a namespace are known."""
        return all(
            chart in CHARTS and CHARTS[chart].has_all and chart not in self._relabelled
            for chart in self.names(namespace)
        )


def _sets(value: Any, keys: tuple[str, ...]) -> bool:
    """Returns whether one of the keys has a value that is not empty, at any depth."""
    if isinstance(value, dict):
        return any(bool(item) if key in keys else _sets(item, keys) for key, item in value.items())
    return isinstance(value, list) and any(_sets(item, keys) for item in value)
