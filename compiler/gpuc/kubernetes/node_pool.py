"""The labels of the nodes that a Karpenter NodePool can start, and whether these nodes meet requirements of pods.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1/labels.go, pkg/scheduling/requirements.go (Compatible, Intersects);
aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go
"""

from collections.abc import Iterable, Mapping
from typing import Final

from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.selector import PRESENT, Domain, Requirement

NODE_POOL: Final = "karpenter.sh/nodepool"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
REGION: Final = "topology.kubernetes.io/region"
ZONE: Final = "topology.kubernetes.io/zone"
ZONE_ID: Final = "topology.k8s.aws/zone-id"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
"""The annotation of pods on whose nodes Karpenter waits."""
_ALIASES = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": REGION,
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}
"""Deprecated label keys, which Karpenter replaces in requirements.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1/labels.go (NormalizedLabels); aws/karpenter-provider-aws v1.14.1
pkg/operator/operator.go
"""
WELL_KNOWN: Final[Mapping[str, frozenset[str]]] = {
    CAPACITY_TYPE: frozenset(("spot", "on-demand", "reserved")),
    "kubernetes.io/arch": frozenset(("amd64", "arm64")),
    "kubernetes.io/os": frozenset(("linux", "windows")),
    NODE_POOL: frozenset(),
    INSTANCE_TYPE: frozenset(),
    "node.kubernetes.io/windows-build": frozenset(),
    ZONE_ID: frozenset(),
    REGION: frozenset(),
    ZONE: frozenset(),
}
"""Labels that all nodes have, with the possible values; an empty set if the values are unknown."""
OFFERING_LABELS: Final = frozenset((CAPACITY_TYPE, ZONE_ID, ZONE))
"""Labels whose values can differ between nodes of one instance type."""
AWS: Final = f"{KARPENTER_AWS}/"
AWS_INSTANCE: Final = f"{AWS}instance-"
AUTO_MODE: Final = "eks.amazonaws.com/"
_AWS_NAMES = (
    *(f"capacity-reservation-{name}" for name in ("id", "type", "interruptible")),
    *(f"instance-{name}" for name in ("capability-flex", "category", "family", "generation", "hypervisor", "size")),
    *(f"instance-{name}" for name in ("cpu", "cpu-manufacturer", "cpu-sustained-clock-speed-mhz", "memory")),
    *(f"instance-{name}" for name in ("ebs-bandwidth", "encryption-in-transit-supported", "local-nvme", "tenancy")),
    *(f"instance-gpu-{name}" for name in ("name", "manufacturer", "count", "memory")),
    *(f"instance-accelerator-{name}" for name in ("name", "manufacturer", "count")),
    *("instance-network-bandwidth", "placement-group-id", "placement-group-partition"),
)
AWS_LABELS: Final = frozenset(f"{AWS}{name}" for name in _AWS_NAMES)
"""The labels of Karpenter's provider for AWS that a pod may select although its NodePool does not define them."""
_PROVIDERS = ("karpenter.azure.com/", "karpenter.k8s.gcp/", AUTO_MODE)
_OTHER_NODE_GROUPS = (f"{AUTO_MODE}nodegroup", f"{AUTO_MODE}capacityType", f"{AUTO_MODE}sourceLaunchTemplate")
"""Starts of label keys that only the nodes of EKS managed node groups have."""
HOSTNAME: Final = "kubernetes.io/hostname"
AFTER_BOOT = ("nvidia.com/", "feature.node.kubernetes.io/", "topology.k8s.aws/", HOSTNAME)
"""Prefixes of labels that nodes get after their start. Karpenter starts no node for pods that select such a label."""
_RESTRICTED_DOMAINS = (KARPENTER, KARPENTER_AWS)
Offer = Mapping[str, Domain]
"""The possible values of node labels, by current key (see `normal`)."""


def is_restricted(key: str) -> bool:
    """Returns whether Karpenter starts no nodes for a pod that selects nodes by this label.

    Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1/labels.go (IsRestrictedLabel); aws/karpenter-provider-aws v1.14.1
    pkg/apis/v1/labels.go
    """
    current = normal(key)
    if current in WELL_KNOWN or current in AWS_LABELS:
        return False
    domain = current.rpartition("/")[0]
    return current == HOSTNAME or any(f".{domain}".endswith(f".{own}") for own in _RESTRICTED_DOMAINS)


def normal(key: str) -> str:
    """Returns the current key of a deprecated label, such as beta.kubernetes.io/os. Returns other keys unchanged."""
    return _ALIASES.get(key, key)


def is_well_known(key: str) -> bool:
    """Returns whether all nodes have a label, such as kubernetes.io/arch. `key` must be a result of `normal`."""
    if key.startswith(_OTHER_NODE_GROUPS):
        return False
    return key in WELL_KNOWN or key in AWS_LABELS or key.startswith(_PROVIDERS)


def offer(requirements: Iterable[Requirement]) -> Offer:
    """Returns the possible values of each node label on the nodes of a NodePool.

    Args:
        requirements: the requirements of the NodePool, and one requirement for every label of the node template.
    """
    domains: dict[str, Domain] = {}
    for label, domain in requirements:
        key = normal(label)
        domains[key] = domains[key].meet(domain) if key in domains else domain
    return domains


def meets(own: Offer, wanted: Requirement, *, is_static: bool = False, api_group: str = "") -> bool:
    """Returns whether a node can meet a requirement of a pod.

    Args:
        own: the possible values of each label of the node, by key.
        wanted: the requirement of the pod.
        api_group: the API group of the node class; empty if it is unknown.
        is_static: whether the nodes exist before the pods. Such nodes can have labels that nodes get after the start.
    """
    if wanted.domain.is_empty:
        return False
    key = normal(wanted.key)
    known = own.get(key)
    providers = [prefix for prefix in (AWS, *_PROVIDERS) if key.startswith(prefix)]
    is_of_other = bool(api_group and providers) and f"{api_group}/" not in providers  # another cloud provider's label
    if known is None and is_well_known(key) and not is_of_other:
        values = WELL_KNOWN.get(key)
        known = Domain(False, values, False) if values else PRESENT
    if known is None:
        return (is_static and key.startswith(AFTER_BOOT)) or is_negative(wanted.domain)
    return known.meet(wanted.domain).has_values or (is_negative(known) and is_negative(wanted.domain))


def is_negative(domain: Domain) -> bool:
    """Returns whether a requirement is negative (NotIn or DoesNotExist), so that nodes without the label meet it."""
    return bool(domain.values) == domain.is_complement
