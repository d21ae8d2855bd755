"""Helm charts that objects or resources need and that no Application installs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from gpuc.catalog import load
from gpuc.cluster.application import Delivery
from gpuc.cluster.index import Index
from gpuc.cluster.queue import from_objects
from gpuc.emit.component import components
from gpuc.emit.component_facts import DevicePlugin
from gpuc.lint.checks import Findings, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group

NO_CHART = rule_of("DLV004")
FURTHER_GROUPS: dict[str, tuple[str, ...]] = {"lws": ("leaderworkerset.x-k8s.io",)}
"""API groups by chart, for charts that no component of gpuc installs. Source: chart of lws v0.9"""
FURTHER_PLUGINS = (DevicePlugin("aws.amazon.com/neuron", ("neuron-helm-chart",), "neuron-device-plugin"),)
"""Device plugins of charts that are not in the catalog. Source: aws-neuron/neuron-helm-charts"""
_KINDS_MAX = 4


def missing_charts(index: Index, delivery: Delivery) -> Findings:
    """Yields findings about charts that are needed and not installed, if Applications install other charts."""
    if not delivery.charts:
        return
    definitions = dict(_charts_of_definitions())
    yield from _without_definitions(delivery, definitions)
    for chart, names in {**load().chart_groups, **FURTHER_GROUPS}.items():
        if chart in definitions.values():
            continue
        users = [manifest for name in names for manifest in index.tree.manifests if group(manifest) == name]
        if users and chart not in delivery.charts:
            message = f"{_summary(users)} need chart {chart}, but no Application installs the chart"
            yield ObjectFinding(NO_CHART, users[0], ("apiVersion",), message)
    for plugin in (*device_plugins(), *FURTHER_PLUGINS):
        if not delivery.charts & set(plugin.other_charts) and not _runs(index, plugin.image):
            yield from _resource(index, plugin.prefix, plugin.other_charts)


def _charts_of_definitions() -> Iterator[tuple[str, str]]:
    """Yields the charts whose CRDs are in a chart of their own, each with that chart."""
    for rows in load().releases.values():
        for release in rows.values():
            if release.crds_from not in ("", release.component):
                yield release.chart, rows[release.crds_from].chart


def device_plugins() -> Iterator[DevicePlugin]:
    """Yields the device plugins of components, with all charts that install them."""
    charts = {row.component: row.chart for row in load().all_releases}
    for component in components():
        if plugin := component.device_plugin:
            yield plugin._replace(other_charts=(charts[component.name], *plugin.other_charts))


def _summary(manifests: list[Manifest]) -> str:
    """Returns the number of objects and the first few of their kinds, as text."""
    kinds = list(dict.fromkeys(manifest.kind for manifest in manifests))
    named = ", ".join(kinds[:_KINDS_MAX]) + ("..." if len(kinds) > _KINDS_MAX else "")
    return f"{len(manifests)} objects ({named})"


def _without_definitions(delivery: Delivery, definitions: Mapping[str, str]) -> Findings:
    """Yields findings about sources with skipCrds, if the chart with the CRDs is missing.

    Args:
        definitions: the chart with the CRDs, by the chart of the controller.
    """
    for source in delivery.sources:
        missing = definitions.get(source.chart, "")
        if missing and missing not in delivery.charts and dig(source.value, "helm", "skipCrds") is True:
            message = f"the chart is installed without its CRDs, and no Application installs chart {missing}"
            yield ObjectFinding(NO_CHART, source.application, (*source.path, "helm", "skipCrds"), message)


def _runs(index: Index, image: str) -> bool:
    """Returns whether pods of the input run an image whose name contains `image`."""
    containers = (container for pods in index.pods for _, container in pods.containers())
    return any(isinstance(text := dig(container, "image"), str) and image in text for container in containers)


def _resource(index: Index, prefix: str, charts: tuple[str, ...]) -> Findings:
    """Yields a finding at the first ClusterQueue that covers a resource without a chart, or else at the first pods."""
    queues = from_objects(index.tree).by_name.values()
    covering = ((queue.manifest, queue.covered_path(name), name) for queue in queues for name in queue.covered)
    requesting = ((pods.manifest, path, name) for pods in index.pods for path, name in pods.resources())
    for manifest, path, name in chain(covering, requesting):
        if manifest and isinstance(name, str) and name.startswith(prefix):
            message = f"no node has {name}, because no Application installs chart {' or '.join(charts)}"
            yield ObjectFinding(NO_CHART, manifest, path, message)
            return
