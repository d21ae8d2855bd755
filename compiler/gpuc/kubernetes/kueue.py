"""Names of Kueue's API, and the node labels of topology levels."""

from __future__ import annotations

GROUP = "kueue.x-k8s.io"
KUEUE_API = f"{GROUP}/v1beta2"
REQUIRED_TOPOLOGY = f"{GROUP}/podset-required-topology"
PREFERRED_TOPOLOGY = f"{GROUP}/podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY = f"{GROUP}/podset-unconstrained-topology"
HOST = "kubernetes.io/hostname"
LEVEL_LABELS = {
    "zone": "topology.kubernetes.io/zone",
    "block": "topology.k8s.aws/network-node-layer-3",
    "host": HOST,
}
"""Node labels by topology level; the widest level comes first.

EC2 numbers its network layers from the top. The third layer is the lowest that all networks have; some have a fourth.
The cloud controller manager sets these labels after a node has joined, so they need nodes that exist before the pods.

Source: EC2 user guide, how instance topology works
"""
