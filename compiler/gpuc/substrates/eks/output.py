"""What the substrate `eks` (EKS with Karpenter) adds to the output and to the README of a cluster."""

from collections.abc import Mapping
from pathlib import Path

from gpuc.emit.substrate import SubstrateOutput
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model import Cluster
from gpuc.substrates.eks.chapters.access import members, service_accounts
from gpuc.substrates.eks.chapters.connections import network
from gpuc.substrates.eks.chapters.nodes import capacity, instance_types, placement, system_nodes, topology
from gpuc.substrates.eks.karpenter.alerts import node_pool_pattern
from gpuc.substrates.eks.scaling import aws, eks
from gpuc.substrates.eks.section import SECTIONS


def _values(cluster: Cluster) -> Mapping[str, object]:
    reserved = [pool for pool in cluster.pools if eks(pool).spec.reservations]
    return {
        "aws": aws(cluster),
        "eks_of": eks,
        "all_reserved": reserved,
        "uses_spot": any("spot" in eks(pool).spec.purchase for pool in cluster.pools),
    }


def _nodes_metric(cluster: Cluster) -> str:
    pools = node_pool_pattern(cluster.pools)
    return f'count(karpenter_nodes_allocatable{{nodepool=~"{pools}"}}) > 0'


OUTPUT = SubstrateOutput(
    sections=SECTIONS,
    folder=Path(__file__).parent,
    cluster_name=lambda cluster: aws(cluster).eks_cluster,
    endpoints="AWS endpoints",
    texts=lambda cluster: {"eks": aws(cluster).eks_cluster, "region": aws(cluster).region},
    values=_values,
    add_ons=("eks-addon/coredns", "eks-addon/kube-proxy"),
    machines="nodeclaims",
    nodes_metric=_nodes_metric,
    alerts=lambda cluster: iter(()),
    alert_labels=lambda cluster: (),
    pool_label=NODE_POOL,
    labels_by_rules=False,
    artifacts=lambda cluster: iter(()),
    claims=lambda namespace: {},
    folders=(),
    cluster_kinds=(),
    chapters={
        10: system_nodes,
        30: network,
        40: instance_types,
        60: placement,
        70: capacity,
        80: members,
        90: service_accounts, 100: topology,
    },
)  # fmt: skip
