from __future__ import annotations

from gpuc.catalog.reserved_keys import is_free_label, reserved_domain
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP141", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go")
def reserved_node_label(cluster: Cluster) -> Findings:
    """A node label of the spec is reserved for Kubernetes, Karpenter, AWS, NVIDIA or gpuc.

    Karpenter refuses labels of its own domain and the hostname, and starts no node. Other reserved labels change which
    instances Karpenter chooses, which pods of the GPU Operator run on the node, or which queue pays for the node.
    """
    for pool in cluster.pools:
        for key in pool.spec.node_labels:
            if (domain := reserved_domain(key)) and not is_free_label(key):
                message = f"node label {key} of node pool {pool.name} has the domain {domain}, which is reserved"
                yield (*pool.path, "nodeLabels", key), f"{message}; expected a domain of your own"
