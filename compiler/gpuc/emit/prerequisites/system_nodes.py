"""The EKS cluster, and the nodes on which the controllers run."""

from __future__ import annotations

from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import AWS, Chapter, Row, written
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT

TITLES = {"karpenter": "Karpenter", "kueue": "Kueue", "gatekeeper": "Gatekeeper", "gpu-operator": "the GPU Operator"}


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about the EKS cluster."""
    known = {"name": cluster.aws.eks_cluster, "version": cluster.spec.kubernetes}
    replaced = replaces_kube_proxy(cluster)
    components = {component.name for component in needed_components(cluster)}
    rows: list[Row] = [
        ("eks-cluster", (*AWS, "eksCluster"), known),
        ("authentication-mode", (*AWS, "eksCluster"), known),
        ("system-nodes", AWS, {"taint": SYSTEM_TAINT}),
        ("eks-addon/coredns", AWS, {}),
        *([] if replaced else [("eks-addon/kube-proxy", AWS, {})]),
    ]
    values = {
        "controllers_of_platform": ", ".join(title for name, title in TITLES.items() if name in components),
        "charts": sorted(cluster.spec.charts),
        "replaces_kube_proxy": replaced,
    }
    return written(cluster, "system_nodes", "EKS cluster and system nodes", rows, **values)


def replaces_kube_proxy(cluster: Cluster) -> bool:
    """Returns whether Cilium has to replace kube-proxy: its Gateways need the replacement.

    Source: cilium/cilium v1.20.2 Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    isolated = (tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network)
    return any(entry.gateway for network in isolated for entry in network.ingress)
