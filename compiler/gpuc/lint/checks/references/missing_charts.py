"""Helm charts that objects or resources need and that no Application installs."""

from __future__ import annotations

from itertools import chain

from gpuc.catalog import load
from gpuc.cluster.application import Delivery
from gpuc.cluster.index import Index
from gpuc.cluster.queue import from_objects
from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.lint.checks import Findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group

NO_CHART = declare_rule(
    "DLV004", Severity.ERROR,
    "No Application installs a chart that objects or resources need, although Applications install other charts.",
    "Without the chart's CRDs the sync fails. Without its controller the objects have no effect. Without its device "
    "plugin no node has the resource.",
    "Argo CD v3.5, docs/user-guide/helm.md",
)  # fmt: skip
FURTHER_GROUPS: dict[str, tuple[str, ...]] = {"jobset": ("jobset.x-k8s.io",), "lws": ("leaderworkerset.x-k8s.io",)}
"""API groups by chart, for charts that no component of gpuc installs.

Source: charts of jobset v0.12 and lws v0.9
"""
RESOURCES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("nvidia.com/", ("gpu-operator", "nvidia-device-plugin"), "k8s-device-plugin"),
    ("vpc.amazonaws.com/efa", ("aws-efa-k8s-device-plugin",), "efa-k8s-device-plugin"),
    ("aws.amazon.com/neuron", ("neuron-helm-chart",), "neuron-device-plugin"),
)
"""Prefix of a resource's name, the charts that install its device plugin, and the image of that plugin.

Source: gpu-operator v26.7.0; NVIDIA/k8s-device-plugin deployments/helm; aws/eks-charts
stable/aws-efa-k8s-device-plugin; aws-neuron/neuron-helm-charts
"""
_KINDS_MAX = 4
_KARPENTER, _KARPENTER_CRD = "karpenter", "karpenter-crd"


def missing_charts(index: Index, delivery: Delivery) -> Findings:
    """Yields findings about charts that are needed and not installed, if Applications install other charts."""
    if not delivery.charts:
        return
    yield from _karpenter_crd(delivery)
    needed = {**load().chart_groups, **FURTHER_GROUPS}
    del needed[_KARPENTER_CRD]
    for chart, names in needed.items():
        users = [manifest for name in names for manifest in index.tree.manifests if group(manifest) == name]
        if users and chart not in delivery.charts:
            message = f"{_summary(users)} need chart {chart}, but no Application installs the chart"
            yield ObjectFinding(NO_CHART, users[0], ("apiVersion",), message)
    for prefix, charts, image in RESOURCES:
        if not delivery.charts & set(charts) and not _runs(index, image):
            yield from _resource(index, prefix, charts)


def _summary(manifests: list[Manifest]) -> str:
    """Returns the number of objects and the first few of their kinds, as text."""
    kinds = list(dict.fromkeys(manifest.kind for manifest in manifests))
    named = ", ".join(kinds[:_KINDS_MAX]) + ("..." if len(kinds) > _KINDS_MAX else "")
    return f"{len(manifests)} objects ({named})"


def _karpenter_crd(delivery: Delivery) -> Findings:
    """Yields findings about sources with Karpenter's chart and skipCrds, if the chart karpenter-crd is missing."""
    if _KARPENTER_CRD in delivery.charts:
        return
    for source in delivery.sources:
        if source.chart == _KARPENTER and dig(source.value, "helm", "skipCrds") is True:
            message = f"the chart is installed without its CRDs, and no Application installs chart {_KARPENTER_CRD}"
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
