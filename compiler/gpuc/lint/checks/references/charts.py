"""Charts that objects and resources of a tree need, against those that its Applications install."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.catalog import load
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.manifest.manifest import Manifest
from gpuc.objects.application_sources import Delivery
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items

NO_CHART = declare_rule(
    "DLV004",
    Severity.ERROR,
    "Objects or resources need a chart that no Application installs, while others are installed.",
    "Without its definitions the API server knows no such kind and the sync fails; without its controller nothing "
    "acts on the objects; without its device plugin no node has the resource.",
    "Argo CD v3.5, docs/user-guide/helm.md",
)

FURTHER_GROUPS: dict[str, tuple[str, ...]] = {
    "jobset": ("jobset.x-k8s.io",),
    "lws": ("leaderworkerset.x-k8s.io",),
}
"""API groups by chart, beside those of the charts in catalog/releases.json.

Source: charts of jobset v0.12 and lws v0.9
"""
RESOURCES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("nvidia.com/", ("gpu-operator", "nvidia-device-plugin"), "k8s-device-plugin"),
    ("vpc.amazonaws.com/efa", ("aws-efa-k8s-device-plugin",), "efa-k8s-device-plugin"),
    ("aws.amazon.com/neuron", ("neuron-helm-chart",), "neuron-device-plugin"),
)
"""What a resource's name begins with, the charts of which one brings its device plugin, and that plugin's image.

Source: gpu-operator v26.7.0; NVIDIA/k8s-device-plugin deployments/helm; aws/eks-charts
stable/aws-efa-k8s-device-plugin; aws-neuron/neuron-helm-charts
"""
_MOST_TOLD = 4
_KARPENTER, _DEFINITIONS = "karpenter", "karpenter-crd"


def missing_charts(index: Index, found: Delivery) -> Iterator[ObjectFinding]:
    """Charts that are needed and not installed; nothing where the tree installs none at all."""
    if not found.charts:
        return
    yield from _definitions(found)
    groups: dict[str, list[Manifest]] = {}
    for manifest in index.tree.manifests:
        groups.setdefault(group(manifest), []).append(manifest)
    for chart, names in _groups().items():
        needy = [each for name in names for each in groups.get(name, ())]
        if needy and chart not in found.charts:
            message = f"{_apiece(needy)} need chart {chart}, and no Application installs it"
            yield ObjectFinding(NO_CHART, needy[0], ("apiVersion",), message)
    for beginning, charts, image in RESOURCES:
        if not found.charts & set(charts) and not _runs(index, image):
            yield from _resource(index, beginning, charts)


def _groups() -> dict[str, tuple[str, ...]]:
    """API groups by the chart that their objects need."""
    releases = [release for components in load().releases.values() for release in components.values()]
    return {release.chart: release.groups for release in releases if release.groups} | FURTHER_GROUPS


def _apiece(manifests: list[Manifest]) -> str:
    """How many objects, and the first few of their kinds."""
    kinds = list(dict.fromkeys(each.kind for each in manifests))
    named = ", ".join(kinds[:_MOST_TOLD]) + ("..." if len(kinds) > _MOST_TOLD else "")
    return f"{len(manifests)} objects ({named})"


def _definitions(found: Delivery) -> Iterator[ObjectFinding]:
    """Karpenter's chart without its CRDs needs the other chart, which has nothing else."""
    if _DEFINITIONS in found.charts:
        return
    for source in found.sources:
        if source.chart == _KARPENTER and dig(source.value, "helm", "skipCrds") is True:
            message = f"the chart leaves its definitions out, and no Application installs chart {_DEFINITIONS}"
            yield ObjectFinding(NO_CHART, source.application, (*source.path, "helm", "skipCrds"), message)


def _runs(index: Index, image: str) -> bool:
    """Whether pods of the tree itself are the device plugin."""
    containers = (container for each in index.pods for _, container in each.containers())
    return any(isinstance(text := dig(each, "image"), str) and image in text for each in containers)


def _resource(index: Index, beginning: str, charts: tuple[str, ...]) -> Iterator[ObjectFinding]:
    """The first place at which a queue gives out, or else pods ask for, a resource that nothing brings."""
    first = next(_given_out(index.tree, beginning), None) or next(_asked(index, beginning), None)
    if first is not None:
        manifest, path, name = first
        message = f"no node has {name}: it needs chart {' or '.join(charts)}, and no Application installs it"
        yield ObjectFinding(NO_CHART, manifest, path, message)


def _given_out(tree: ObjectSet, beginning: str) -> Iterator[tuple[Manifest, Path, str]]:
    for queue in tree.of("kueue.x-k8s.io", "ClusterQueue"):
        for number, part in items(dig(queue.body, "spec", "resourceGroups")):
            for place, name in items(dig(part, "coveredResources")):
                if isinstance(name, str) and name.startswith(beginning):
                    yield queue, ("spec", "resourceGroups", number, "coveredResources", place), name


def _asked(index: Index, beginning: str) -> Iterator[tuple[Manifest, Path, str]]:
    for each in index.pods:
        for path, name in each.resources():
            if isinstance(name, str) and name.startswith(beginning):
                yield each.manifest, path, name
