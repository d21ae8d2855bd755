"""Labels of the services and pods that Helm charts create, for the checks of ServiceMonitors and PodMonitors.

A chart whose values change labels counts as unknown.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

from gpuc.catalog import load
from gpuc.cluster.application import ARGO, applications
from gpuc.emit.component import component_named
from gpuc.emit.component_facts import ChartLabels, Labels
from gpuc.objects.object_set import ObjectSet, dig


@cache
def known_labels() -> dict[str, tuple[str, ChartLabels]]:
    """Returns the component and the labels of each chart whose labels gpuc knows, by the name of the chart."""
    names = {row.chart: row.component for row in load().all_releases}
    found = {chart: (name, component_named(name)) for chart, name in names.items()}
    return {chart: (name, part.chart_labels) for chart, (name, part) in found.items() if part and part.chart_labels}


class InstalledCharts:
    """The charts that Applications install, by namespace."""

    def __init__(self, objects: ObjectSet) -> None:
        self._charts: dict[str, list[str]] = {}
        self._relabelled = {
            chart
            for chart, (name, labels) in known_labels().items()
            if _sets(objects.values.get(name), labels.relabelling)
        }
        for application in applications(objects.of(ARGO, "Application")):
            for source in application.sources:
                chart = source.chart.rpartition("/")[2]
                if not chart:
                    continue
                self._charts.setdefault(application.destination.namespace, []).append(chart)
                _, labels = known_labels().get(chart, ("", None))
                if labels and _sets(dig(source.value, "helm"), (*labels.relabelling, "values", "parameters")):
                    self._relabelled.add(chart)  # values in a string or in parameters are not parsed

    def names(self, namespace: str) -> list[str]:
        """Returns the names of all charts in a namespace, including charts without known labels."""
        return self._charts.get(namespace, [])

    @cached_property
    def namespaces(self) -> list[str]:
        """The namespaces with a chart whose labels are known."""
        return [name for name, charts in self._charts.items() if not known_labels().keys().isdisjoint(charts)]

    def labels(self, namespace: str, kind: str) -> list[Labels]:
        """Returns the labels that a kind of monitor can select in a namespace, one item for every known chart."""
        return [known_labels()[chart][1].of(kind) for chart in self.names(namespace) if chart in known_labels()]

    def are_known(self, namespace: str) -> bool:
        """Returns whether the labels of all charts in a namespace are known."""
        return all(
            chart in known_labels() and known_labels()[chart][1].has_all and chart not in self._relabelled
            for chart in self.names(namespace)
        )


def _sets(value: Any, keys: tuple[str, ...]) -> bool:
    """Returns whether one of the keys has a value that is not empty, at any depth."""
    if isinstance(value, dict):
        return any(bool(item) if key in keys else _sets(item, keys) for key, item in value.items())
    return isinstance(value, list) and any(_sets(item, keys) for item in value)
