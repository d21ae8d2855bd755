"""Nodes that no NodePool of the input makes, and devices that no object of the input advertises."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.node_pool import AWS_LABELS, HOSTNAME, WELL_KNOWN, normal
from gpuc.kubernetes.selector import Requirement
from gpuc.objects.object_set import dig, items
from gpuc.objects.pod_resources import is_extended as is_device
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.nodes import MatchingPool, PodDemand

_EVERYWHERE = frozenset(WELL_KNOWN) - {"karpenter.sh/nodepool", "karpenter.sh/capacity-type"}
"""Labels of all nodes, also of those that Karpenter does not start."""
_BY_KARPENTER = frozenset(
    (
        *("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "vpc.amazonaws.com/efa", "vpc.amazonaws.com/pod-eni"),
        *("aws.amazon.com/neuron", "aws.amazon.com/neuroncore"),
    )
)
"""Devices that Karpenter expects on nodes without a NodeOverlay.

Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go (WellKnownResources)
"""
_PLUGINS = {
    "amd.com/gpu": re.compile("amd.?gpu|rocm|amd-gpu"),
    "habana.ai/gaudi": re.compile("habana|gaudi"),
    "aws.amazon.com/neuron": re.compile("neuron"),
    "aws.amazon.com/neuroncore": re.compile("neuron"),
}
"""Words in the names or images of device plugins, by the device that they advertise."""


def other_nodes(cluster: ClusterIndex, demand: PodDemand, flavors: Sequence[str] = ()) -> str:
    """Returns why nodes that no NodePool makes may run the pods; an empty string if no such nodes can run the pods.

    In a complete object set, all nodes except the system nodes come from NodePools.

    Args:
        flavors: the names of the ResourceFlavors whose node labels the demand contains.
    """
    if cluster.objects.is_complete:
        return ""
    for wanted in _of_other_nodes(cluster, demand):
        with_label = (name for name in flavors if _has_label(cluster, name, wanted.key))
        subject = f"flavor {name}" if (name := next(with_label, "")) else "the node selector of the pods"
        return f"{subject} selects nodes that no NodePool of the input makes: {wanted}"
    if not cluster.nodes.is_complete:
        return "the input has objects of other kinds that make nodes"
    keys = {normal(wanted.key) for term in demand.terms for wanted in term}
    if keys <= _EVERYWHERE and not any(is_device(name) and count for name, count in demand.pod.items()):
        return "no NodePool of the input makes nodes for the pods, but other nodes may run them"
    return ""


def _of_other_nodes(cluster: ClusterIndex, demand: PodDemand) -> Iterator[Requirement]:
    """Yields the requirements for labels that no node of a NodePool has."""
    known = cluster.nodes.keys - {HOSTNAME}
    for term in demand.terms:
        for wanted in term:
            key, domain = normal(wanted.key), wanted.domain
            is_other = key not in known and key not in AWS_LABELS and not domain.absent
            if is_other or (key == "karpenter.sh/nodepool" and domain.absent):
                yield wanted


def _has_label(cluster: ClusterIndex, flavor: str, key: str) -> bool:
    manifest = cluster.flavor(flavor)
    return manifest is not None and dig(manifest.body, "spec", "nodeLabels", key) is not None


def other_devices(cluster: ClusterIndex, found: Sequence[MatchingPool], demand: PodDemand) -> str:
    """Returns a message about a requested device for which Karpenter starts no nodes, but that nodes may have.

    Karpenter knows the devices of the provider and of NodeOverlays. In a complete object set, no other device exists.
    """
    if cluster.objects.is_complete:
        return ""
    rooms = [match.room.of(instance) for match in found for instance in match.types]
    for name, count in demand.pod.items():
        if count and is_device(name) and name not in _BY_KARPENTER and not any(room.get(name) for room in rooms):
            return f"the input does not show which nodes have {name}; Karpenter starts no node for it"
    return ""


def missing_device_plugin(cluster: ClusterIndex, pod: Amounts) -> str:
    """Returns a message about a requested device without a device plugin in the input; an empty string otherwise."""
    texts = None
    for name, words in _PLUGINS.items():
        if pod.get(name):
            texts = texts if texts is not None else list(_daemonset_texts(cluster))
            if not any(words.search(text) for text in texts):
                return f"the input has no device plugin that advertises {name}"
    return ""


def _daemonset_texts(cluster: ClusterIndex) -> Iterator[str]:
    """Yields the names and images of DaemonSets, and the names of Helm charts."""
    yield from cluster.charts
    for pods in cluster.daemonsets:
        yield pods.manifest.name
        yield from (str(dig(row, "image")) for _, row in items(dig(pods.spec, "containers")))
