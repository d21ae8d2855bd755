"""The EKS cluster, and the nodes on which the controllers run."""

from __future__ import annotations

from gpuc.emit.component import needed_components
from gpuc.emit.prerequisites.record import AWS, Chapter, Prerequisite, aws, kubectl
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT

TITLES = {"karpenter": "Karpenter", "kueue": "Kueue", "gatekeeper": "Gatekeeper", "gpu-operator": "the GPU Operator"}

_MODE = "cluster.accessConfig.authenticationMode"


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about the EKS cluster."""
    name = cluster.aws.eks_cluster
    components = {component.name for component in needed_components(cluster)}
    untainted = (
        f"{kubectl(cluster)} get nodes -l '!karpenter.sh/nodepool' -o json | jq -r '.items[] | "
        f'select([.spec.taints[]?.key] | any(. == "{SYSTEM_TAINT}" or . == "eks.amazonaws.com/compute-type") | not) '
        "| .metadata.name'"
    )
    prerequisites = (
        Prerequisite(
            id=f"eks-cluster/{name}",
            what=f"the EKS cluster `{name}` with Kubernetes {cluster.spec.kubernetes}",
            reason="the nodes join this cluster, and the objects have the fields of this Kubernetes version",
            checks=(aws(cluster, "eks describe-cluster", f"--name {name} --query cluster.version"),),
            expected=f'"{cluster.spec.kubernetes}"',
            path=(*AWS, "eksCluster"),
        ),
        Prerequisite(
            id=f"authentication-mode/{name}",
            what="an authentication mode of the EKS cluster that has access entries",
            reason="without access entries, no node and no member has permissions",
            checks=(aws(cluster, "eks describe-cluster", f"--name {name} --query {_MODE}"),),
            expected='"API" or "API_AND_CONFIG_MAP"',
            path=(*AWS, "eksCluster"),
        ),
        Prerequisite(
            id="system-nodes",
            what=f"at least two nodes that Karpenter does not start, with the taint `{SYSTEM_TAINT}=true:NoSchedule`",
            reason="the controllers tolerate no taint of the node pools, so that they have no other nodes",
            checks=(aws(cluster, "eks list-nodegroups", f"--cluster-name {name}"), untainted),
            expected="a node group; then nothing: no system node without the taint",
            path=AWS,
        ),
        _add_on(cluster, "coredns", "deployment"),
        *([] if replaces_kube_proxy(cluster) else [_add_on(cluster, "kube-proxy", "daemonset")]),
    )
    values = {
        "controllers_of_platform": ", ".join(title for name, title in TITLES.items() if name in components),
        "charts": sorted(cluster.spec.charts),
        "replaces_kube_proxy": replaces_kube_proxy(cluster),
    }
    return Chapter("EKS cluster and system nodes", "system_nodes.md.j2", prerequisites, values)


def replaces_kube_proxy(cluster: Cluster) -> bool:
    """Returns whether Cilium has to replace kube-proxy: its Gateways need the replacement.

    Source: cilium/cilium v1.20.2 Documentation/network/servicemesh/gateway-api (prerequisites)
    """
    isolated = (tenant.spec.network for tenant in cluster.tenants if tenant.isolates_network)
    return any(entry.gateway for network in isolated for entry in network.ingress)


def _add_on(cluster: Cluster, name: str, kind: str) -> Prerequisite:
    return Prerequisite(
        id=f"eks-addon/{name}",
        what=f"the EKS add-on `{name}`",
        reason="without the add-on, pods reach no Service by its name",
        checks=(f"{kubectl(cluster)} -n kube-system get {kind} {name}",),
        expected=f"the {kind.capitalize().replace('set', 'Set')} {name} with ready pods",
        path=AWS,
    )
