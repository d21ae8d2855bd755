"""Names of Kueue's API, and of the node labels that its topologies have levels by."""

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
"""Node label by topology level, widest first.

EC2 numbers the layers of its network from the top; the third is the lowest that all of its networks have, a few have a
fourth beneath. The cloud controller manager labels nodes after they joined, hence only where nodes exist before work.

Source: EC2 user guide, how instance topology works
"""
