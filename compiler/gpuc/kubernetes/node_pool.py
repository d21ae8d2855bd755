"""The labels of the nodes that a Karpenter NodePool can start, and the requirements of pods that the nodes meet.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1/labels.go, pkg/scheduling/requirements.go (Compatible, Intersects);
aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gpuc.kubernetes.selector import PRESENT, Domain, Requirement

NODE_POOL: Final = "karpenter.sh/nodepool"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
_ALIASES = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
WELL_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    CAPACITY_TYPE: frozenset(("spot", "on-demand", "reserved")),
    "kubernetes.io/arch": frozenset(("amd64", "arm64")),
    "kubernetes.io/os": frozenset(("linux", "windows")),
    NODE_POOL: frozenset(),
    INSTANCE_TYPE: frozenset(),
    "node.kubernetes.io/windows-build": frozenset(),
    "topology.k8s.aws/zone-id": frozenset(),
    "topology.kubernetes.io/region": frozenset(),
    "topology.kubernetes.io/zone": frozenset(),
}
"""Labels that all nodes have, with the possible values; an empty set if the values are unknown."""
OFFERING_LABELS: Final = frozenset((CAPACITY_TYPE, "topology.k8s.aws/zone-id", "topology.kubernetes.io/zone"))
"""Labels whose values can differ between nodes of one instance type."""
_PROVIDERS = ("karpenter.k8s.aws/", "karpenter.azure.com/", "karpenter.k8s.gcp/", "eks.amazonaws.com/")
HOSTNAME: Final = "kubernetes.io/hostname"
_AFTER_BOOT = ("nvidia.com/", "feature.node.kubernetes.io/", "topology.k8s.aws/", HOSTNAME)
"""Prefixes of labels that nodes get after their start. Karpenter starts no node for pods that select such a label."""
Offer = Mapping[str, Domain]
"""The possible values of node labels, by current key (see `normal`)."""


def normal(key: str) -> str:
    """Returns the current key of a deprecated label key; any other key unchanged."""
    return _ALIASES.get(key, key)


def is_well_known(key: str) -> bool:
    """Returns whether all nodes have the label with a current key."""
    return key in WELL_KNOWN or key.startswith(_PROVIDERS)


def offer(requirements: Iterable[Requirement]) -> Offer:
    """Returns the possible values of node labels that meet all requirements of a NodePool.

    Args:
        requirements: the requirements of the NodePool, and one requirement for every label of the node template.
    """
    domains: dict[str, Domain] = {}
    for label, domain in requirements:
        key = normal(label)
        domains[key] = domains[key].meet(domain) if key in domains else domain
    return domains


def meets(own: Offer, wanted: Requirement, *, is_static: bool = False) -> bool:
    """Returns whether a node can meet a requirement of a pod.

    Args:
        own: the possible values of the node's labels.
        wanted: the requirement of the pod.
        is_static: whether the nodes exist before the pods. Such nodes can have labels that nodes get after the start.
    """
    key = normal(wanted.key)
    known = own.get(key)
    if known is None and is_well_known(key):
        values = WELL_KNOWN.get(key)
        known = Domain(False, values, False) if values else PRESENT
    if known is None:
        return (is_static and key.startswith(_AFTER_BOOT)) or _is_negative(wanted.domain)
    return known.meet(wanted.domain).has_values or (_is_negative(known) and _is_negative(wanted.domain))


def _is_negative(domain: Domain) -> bool:
    """Returns whether Karpenter treats a requirement as NotIn or DoesNotExist, which a missing label meets."""
    return bool(domain.values) == domain.is_complement
