"""Labels of the services and pods that charts make, as far as monitors select by them.

Only what every release of a chart gives stands here, not what its values may add: where those do, the chart is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from gpuc.objects.object_set import ObjectSet, dig, items

Labels = Mapping[str, frozenset[str]]
"""The values that each label has among the objects of one kind; none named for one that may have any."""

ANY: Final[frozenset[str]] = frozenset()
_HELM: Labels = {
    "helm.sh/chart": ANY,
    "app.kubernetes.io/instance": ANY,
    "app.kubernetes.io/version": ANY,
    "app.kubernetes.io/managed-by": frozenset(("Helm",)),
}


class Made(NamedTuple):
    """What a chart makes."""

    services: Labels
    pods: Labels
    shifting: tuple[str, ...] = ()
    """Keys of its values, at any place, that change labels or add objects."""
    is_all: bool = True
    """Whether it makes no services and no pods with other labels."""

    def of(self, kind: str) -> Labels:
        """Labels of what a kind of monitor selects."""
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
CHARTS: Mapping[str, Made] = {
    "kueue": Made(
        services={
            **_HELM,
            **_name("kueue"),
            **_MANAGER,
            "app.kubernetes.io/component": frozenset(("metrics-service", "webhook-service", "visibility-service")),
        },
        pods={**_name("kueue"), **_MANAGER, "app.kubernetes.io/instance": ANY},
        shifting=("nameOverride", "enableKueueViz"),
    ),
    "gatekeeper": Made(
        services=_GATEKEEPER,
        pods={
            **_HELM,
            **_GATEKEEPER,
            **_name("gatekeeper"),
            "control-plane": frozenset(("audit-controller", "controller-manager")),
            "gatekeeper.sh/operation": frozenset(("audit", "webhook")),
        },
        shifting=("nameOverride", "commonLabels", "podLabels"),
    ),
    "karpenter": Made(
        services={**_HELM, **_name("karpenter")},
        pods={**_name("karpenter"), "app.kubernetes.io/instance": ANY},
        shifting=("nameOverride", "additionalLabels", "podLabels"),
    ),
    "karpenter-crd": Made(services={}, pods={}),
    "gpu-operator": Made(
        services={"app": _DCGM, "app.kubernetes.io/component": _DCGM}, pods={"app": _DCGM}, is_all=False
    ),
}
"""By the name of the chart.

Source: templates of kueue v0.19.2 charts/kueue, gatekeeper v3.23.0 charts/gatekeeper and karpenter-provider-aws v1.14.1
charts/karpenter; NVIDIA/gpu-operator assets/state-dcgm-exporter
"""


class Delivered:
    """The charts that the Applications of a tree bring to each namespace."""

    def __init__(self, tree: ObjectSet) -> None:
        self._charts: dict[str, list[str]] = {}
        self._shifted: set[str] = {name for name, made in CHARTS.items() if _says(tree.values.get(name), made.shifting)}
        for each in tree.of("argoproj.io", "Application"):
            namespace = dig(each.body, "spec", "destination", "namespace")
            sources = [dig(each.body, "spec", "source"), *(one for _, one in items(dig(each.body, "spec", "sources")))]
            for source in sources if isinstance(namespace, str) else ():
                if isinstance(chart := dig(source, "chart"), str):
                    self._add(str(namespace), chart.rpartition("/")[2], dig(source, "helm"))

    def _add(self, namespace: str, chart: str, helm: Any) -> None:
        self._charts.setdefault(namespace, []).append(chart)
        made = CHARTS.get(chart)
        if made is not None and _says(helm, (*made.shifting, "values", "parameters")):
            self._shifted.add(chart)  # values as a text, or by path, are not read here

    def to(self, namespace: str) -> list[str]:
        """The names of the charts of a namespace, unknown ones among them."""
        return self._charts.get(namespace, [])

    @cached_property
    def namespaces(self) -> list[str]:
        """Every namespace with a chart that is known."""
        return [name for name, charts in self._charts.items() if not CHARTS.keys().isdisjoint(charts)]

    def labels(self, namespace: str, kind: str) -> list[Labels]:
        """Labels of what a kind of monitor can select there, chart by chart that is known."""
        return [CHARTS[chart].of(kind) for chart in self.to(namespace) if chart in CHARTS]

    def are_known(self, namespace: str) -> bool:
        """Whether nothing with other labels comes from the charts of a namespace."""
        return all(
            chart in CHARTS and CHARTS[chart].is_all and chart not in self._shifted for chart in self.to(namespace)
        )


def _says(value: Any, keys: tuple[str, ...]) -> bool:
    """Whether a value says something under one of the keys, at any depth."""
    if isinstance(value, dict):
        return any(bool(each) if key in keys else _says(each, keys) for key, each in value.items())
    return isinstance(value, list) and any(_says(each, keys) for each in value)
