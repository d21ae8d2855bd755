"""What a control plane is started with: plain data, from whoever knows the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuc.manifest.manifest import Body

SERVICE_RANGE = "10.0.0.0/24"


@dataclass(frozen=True)
class Settings:
    """What the programs read beside their flags."""

    crds: Sequence[bytes | Body]
    """CustomResourceDefinitions: a file's bytes as they are, or plain data."""
    kueue_configuration: Mapping[str, Any]
    """Kueue's whole configuration as it would be installed."""
    instance_types: Sequence[Body]
    """What the simulated provider of Karpenter has to offer."""
    karpenter_gates: Mapping[str, bool]
    """Feature gates of Karpenter by name: NodeOverlay, ReservedCapacity, StaticCapacity..."""
    node_stages: Sequence[Body]
    """What the fake kubelet does with nodes: kwok Stages."""
    judged: Sequence[tuple[str, str]]
    """API group and resource that policies judge: Gatekeeper is asked about no other."""
    from_charts: bool = False
    """Charts bring Kueue, Gatekeeper and Karpenter: only Kubernetes and kwok are started, and DaemonSets make pods."""
    service_range: str = SERVICE_RANGE
    """The addresses of Services, as a CIDR."""
    other_kubelet: Sequence[str] = ()
    """Namespaces whose pods kwok leaves alone: something else runs them."""
