"""Kubelet settings of training nodes: NUMA placement of CPU cores, GPUs and network adapters."""

from __future__ import annotations

TOPOLOGY_POLICY = "best-effort"
"""Align cores, GPUs and EFA devices where possible, and never reject a pod.

The scheduler does not know NUMA nodes. The policies restricted and single-numa-node reject pods that Kueue has already
admitted (TopologyAffinityError), and the gang fails. A pod that uses a complete node spans all NUMA nodes under all
policies except single-numa-node, which rejects it.
"""

TOPOLOGY_OPTION = "prefer-closest-numa-nodes"
"""If a container needs several NUMA nodes, prefer adjacent NUMA nodes. Stable since Kubernetes 1.32."""
