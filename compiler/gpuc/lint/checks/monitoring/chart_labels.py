"""Labels of the services and pods that charts create, for the selectors of monitors.

Only labels that every release of a chart has are listed. If its values change labels, the chart counts as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from gpuc.objects.object_set import ObjectSet, dig, items

Labels = Mapping[str, frozenset[str]]
"""The values of each label among the objects of one kind; an empty set where any value is possible."""

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
    """Keys of its values, at any depth, that change labels or add objects."""
    has_all: bool = True
    """Whether the chart creates no services and pods with other labels."""

    def of(self, kind: str) -> Labels:
        """Labels of the objects that a kind of monitor selects."""
        return self.services if kind == "ServiceMonitor" else self.pods


def _name(name: str) -> Labels:
    return {"app.kubernetes.io/name": frozenset((name,))}


_MANAGER: Labels = {"control-plane": frozenset(("controller-manager",))}
_GATEKEEPER: Labels = {
    "app": frozenset(("gatekeeper",)),
    "chart": frozenset(("gatekeeper",)),
    "gatekeeper.sh/system": frozenset(("yes",)),
    "heritage": frozenset(("Helm",)),
    "release": ANY,
}
_DCGM = frozenset(("nvidia-dcgm-exporter",))
CHARTS: Mapping[str, ChartLabels] = {
    "kueue": ChartLabels(
        services={
            **_HELM,
            **_name("kueue"),
            **_MANAGER,
            "app.kubernetes.io/component": frozenset(("metrics-service", "webhook-service", "visibility-service")),
        },
        pods={**_name("kueue"), **_MANAGER, "app.kubernetes.io/instance": ANY},
        relabelling=("nameOverride", "enableKueueViz"),
    ),
    "gatekeeper": ChartLabels(
        services=_GATEKEEPER,
        pods={
            **_HELM,
            **_GATEKEEPER,
            **_name("gatekeeper"),
            "control-plane": frozenset(("audit-controller", "controller-manager")),
            "gatekeeper.sh/operation": frozenset(("audit", "webhook")),
        },
        relabelling=("nameOverride", "commonLabels", "podLabels"),
    ),
    "karpenter": ChartLabels(
        services={**_HELM, **_name("karpenter")},
        pods={**_name("karpenter"), "app.kubernetes.io/instance": ANY},
        relabelling=("nameOverride", "additionalLabels", "podLabels"),
    ),
    "karpenter-crd": ChartLabels(services={}, pods={}),
    "gpu-operator": ChartLabels(
        services={"app": _DCGM, "app.kubernetes.io/component": _DCGM}, pods={"app": _DCGM}, has_all=False
    ),
}
"""Labels by the name of the chart.

Source: templates of kueue v0.19.2 charts/kueue, gatekeeper v3.23.0 charts/gatekeeper and karpenter-provider-aws v1.14.1
charts/karpenter; NVIDIA/gpu-operator assets/state-dcgm-exporter
"""


class DeliveredCharts:
    """The charts that Applications install, by namespace."""

    def __init__(self, tree: ObjectSet) -> None:
        self._charts: dict[str, list[str]] = {}
        self._relabelled = {name for name, row in CHARTS.items() if _sets(tree.values.get(name), row.relabelling)}
        for application in tree.of("argoproj.io", "Application"):
            spec = dig(application.body, "spec")
            namespace = dig(spec, "destination", "namespace")
            sources = [dig(spec, "source"), *(source for _, source in items(dig(spec, "sources")))]
            for source in sources if isinstance(namespace, str) else ():
                if isinstance(chart := dig(source, "chart"), str):
                    self._add(str(namespace), chart.rpartition("/")[2], dig(source, "helm"))

    def _add(self, namespace: str, chart: str, helm: Any) -> None:
        self._charts.setdefault(namespace, []).append(chart)
        row = CHARTS.get(chart)
        if row is not None and _sets(helm, (*row.relabelling, "values", "parameters")):
            self._relabelled.add(chart)  # values in a text or in parameters are not parsed

    def to(self, namespace: str) -> list[str]:
        """The names of all charts in a namespace, known or unknown."""
        return self._charts.get(namespace, [])

    @cached_property
    def namespaces(self) -> list[str]:
        """Every namespace with a known chart."""
        return [name for name, charts in self._charts.items() if not CHARTS.keys().isdisjoint(charts)]

    def labels(self, namespace: str, kind: str) -> list[Labels]:
        """Labels that a kind of monitor can select in a namespace, for each known chart."""
        return [CHARTS[chart].of(kind) for chart in self.to(namespace) if chart in CHARTS]

    def are_known(self, namespace: str) -> bool:
        """Whether the labels of all charts in a namespace are known."""
        return all(
            chart in CHARTS and CHARTS[chart].has_all and chart not in self._relabelled for chart in self.to(namespace)
        )


def _sets(value: Any, keys: tuple[str, ...]) -> bool:
    """Whether one of the keys has a value, at any depth."""
    if isinstance(value, dict):
        return any(bool(item) if key in keys else _sets(item, keys) for key, item in value.items())
    return isinstance(value, list) and any(_sets(item, keys) for item in value)
