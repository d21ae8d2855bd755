"""Settings of a control plane, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuc.manifest.manifest import Body

SERVICE_RANGE = "10.0.0.0/24"


@dataclass(frozen=True)
class Settings:
    """Configuration of the programs of a control plane."""

    crds: Sequence[bytes | Body]
    """CustomResourceDefinitions: the bytes of a YAML file, or the parsed object."""
    kueue_configuration: Mapping[str, Any] | None
    """Kueue's complete configuration, with the values of a real cluster; None for a cluster without Kueue."""
    instance_types: Sequence[Body]
    """Instance types of Karpenter's simulated provider."""
    karpenter_gates: Mapping[str, bool]
    """Feature gates of Karpenter by name: NodeOverlay, ReservedCapacity, StaticCapacity..."""
    node_stages: Sequence[Body]
    """kwok Stages for nodes."""
    policy_resources: Sequence[tuple[str, str]]
    """(API group, resource) of the objects that policies check. Gatekeeper's webhook receives no other objects."""
    has_gatekeeper: bool = True
    """Whether the control plane has Gatekeeper."""
    from_charts: bool = False
    """Whether charts install Kueue, Gatekeeper and Karpenter. If so, the control plane starts only Kubernetes and
    kwok, and DaemonSets create pods."""
    service_range: str = SERVICE_RANGE
    """The address range of Services, as a CIDR."""
    ignored_namespaces: Sequence[str] = ()
    """Namespaces whose pods kwok ignores, because another simulated kubelet runs these pods."""
    service_accounts: bool = False
    """Whether the API server requires that the ServiceAccount of a pod exists, as in a cluster.

    Without this setting, pods can be created before the controller manager creates the ServiceAccount default.
    """
