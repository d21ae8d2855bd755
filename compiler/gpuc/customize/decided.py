"""Finds patches of fields whose values follow from other sections of the spec. A patch may not change these fields."""

from collections.abc import Iterator, Mapping

from gpuc.customize.merge import is_same
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.place import place
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, items, pairs

_TEMPLATE: Path = ("spec", "template")
_KUBELET = ("evictionHard", "evictionSoft", "kubeReserved", "maxPods", "podsPerCore", "systemReserved")
"""Settings of the kubelet on which the allocatable resources of a node depend.

Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype/types.go
"""
_DECIDED: Mapping[str, Mapping[Path, str]] = {
    "NodePool": {
        ("spec", "limits"): "nodes of the pool decides the largest number of nodes",
        ("spec", "replicas"): "nodes of the pool decides the number of nodes",
        (*_TEMPLATE, "spec", "taints"): "sharing and isolation decide the taints, which keep other pods off the nodes",
        (*_TEMPLATE, "spec", "startupTaints"): "gpuc decides when the first pods may start",
    },
    "EC2NodeClass": {
        ("spec", "instanceStorePolicy"): "instances and image decide where pods store data, and quotas count the disk",
        **{
            ("spec", "kubelet", key): "gpuc computes quotas from the resources that the kubelet leaves for pods"
            for key in _KUBELET
        },
    },
    "ClusterQueue": {("spec", "resourceGroups"): "quota of the queue decides the nominal quota"},
    "Application": {
        ("spec", key): "delivery decides what Argo CD syncs, where and when"
        for key in ("project", "source", "sources", "destination", "syncPolicy")
    },
    "AppProject": {("spec",): "the project allows only the sources, namespaces and kinds of the output"},
}
"""The reasons by kind and path."""
_NODE_LABELS: Path = (*_TEMPLATE, "metadata", "labels")
"""The labels of nodes in a NodePool. A patch may add labels."""


def contradictions(emitted: Manifest, before: Manifest, after: Manifest) -> Iterator[tuple[Path, str]]:
    """Yields the spec path and a message for each field that a patch changes but that another section decides.

    Args:
        emitted: the object without patches.
        before: the object without this patch.
        after: the object with this patch.
    """
    old, new = before.document(), after.document()
    for at, reason in _fields(emitted):
        if not is_same(dig(old, *at), dig(new, *at)):
            # The part of the patch that changes the field, or a part of the field.
            parts = (path for step, path in after.overrides.items()
                     if step[: len(at)] == at and before.overrides.get(step) != path)  # fmt: skip
            yield next(parts, after.override(at) or after.origin), f"{place(at)} changes, but {reason}"


def _fields(emitted: Manifest) -> Iterator[tuple[Path, str]]:
    yield from _DECIDED.get(emitted.kind, {}).items()
    if emitted.kind == "NodePool":
        for key, _ in pairs(dig(emitted.body, *_NODE_LABELS)):
            yield (*_NODE_LABELS, key), "gpuc selects the nodes of the pool by its labels"
    if emitted.kind == "EC2NodeClass":
        for index, _ in items(dig(emitted.body, "spec", "blockDeviceMappings")):
            yield ("spec", "blockDeviceMappings", index, "ebs", "volumeSize"), "rootVolume of the pool decides the size"
    if emitted.kind == "ResourceQuota":
        for key, _ in pairs(dig(emitted.body, "spec", "hard")):
            if key.startswith("requests."):
                yield ("spec", "hard", key), "quota of the tenant decides the requests"
    if group(emitted) == CONSTRAINTS:
        yield ("spec", "enforcementAction"), "policies decides the stage of the policy"
