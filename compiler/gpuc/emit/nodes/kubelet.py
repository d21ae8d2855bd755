"""How kubelets of training nodes place containers on cores, GPUs and adapters."""

from __future__ import annotations

TOPOLOGY_POLICY = "best-effort"
"""Align cores, GPUs and EFA where it is possible, and never refuse a pod.

The scheduler knows no NUMA nodes: restricted and single-numa-node fail pods that were already admitted to their
queue (TopologyAffinityError), and a gang dies with one of them. A pod that takes a whole node spans all NUMA nodes
under each policy but single-numa-node, which refuses it.
"""

TOPOLOGY_OPTION = "prefer-closest-numa-nodes"
"""Where more than one NUMA node is needed, those next to each other; stable since Kubernetes 1.32."""
