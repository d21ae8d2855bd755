"""The EFA device plugin as a component. The plugin runs only on nodes with EFA."""

from collections.abc import Iterator
from pathlib import Path

from gpuc.emit.component import PLATFORM, Component
from gpuc.emit.component_facts import DevicePlugin, Preparation, Restarts, nothing
from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.manifest.manifest import Artifact, Body, Values
from gpuc.model import Cluster
from gpuc.substrates.eks.chapters import AWS
from gpuc.substrates.eks.chapters.connections import names, selector
from gpuc.substrates.eks.scaling import add_on_registry, aws


def preparation(cluster: Cluster) -> Chapter:
    """Returns the README chapter about EFA: the version of the CNI plugin, and the rules of the security group."""
    groups = aws(cluster).security_groups
    engine = "cilium" if cluster.network.policy_engine == "cilium" else "vpc-cni"
    known = {"name": ",".join(names(groups)), "groups": selector(groups, "--group-ids")}
    rows: list[Row] = [
        (f"efa-only-interfaces-{engine}", ("spec", "pools"), {}),
        ("efa-traffic", (*AWS, "securityGroups"), known),
    ]
    return written(cluster, Path(__file__).with_name("preparation"), "EFA", rows)


def efa(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values of the EFA device plugin, which runs on the nodes of pools with EFA.

    Without the plugin, a node does not advertise EFA, Karpenter never marks the node as initialized, and NCCL uses TCP.
    """
    pools = cluster.efa_pools
    taints = {taint for pool in pools for taint in (*pool.taints, *pool.startup_taints)}
    tolerations = sorted(
        (taint.toleration() for taint in taints),
        key=lambda toleration: [toleration[key] for key in ("key", "value", "effect")],
    )
    # This list replaces the list of the chart, which also contains instance types of pools without EFA.
    types = sorted({instance.type for pool in pools for instance in pool.instances})
    body: Body = {"supportedInstanceLabels": {"values": types}, "tolerations": tolerations}
    if registry := add_on_registry(cluster):
        # The chart names the registry of us-west-2, to which a VPC with endpoints of its region has no route.
        # Source: aws/eks-charts v0.0.242 stable/aws-efa-k8s-device-plugin/values.yaml
        body["image"] = {"repository": f"{registry}/eks/aws-efa-k8s-device-plugin"}
    yield Values(cluster.values_file("efa"), ("spec", "pools"), "efa", body, pods={(): "EFA nodes"})


COMPONENT = Component(
    name="efa",
    title="the EFA device plugin",
    section=("spec", "pools", "*", "fabric"),
    wave=0,
    artifacts=efa,
    is_needed=lambda cluster: bool(cluster.efa_pools),
    may_need_refresh=False, keeps_definitions=False, chart_cluster_kinds=(),
    chart_kinds=(("apps", "DaemonSet"),),
    cluster_kinds=(), kinds=(), folders=(), ignored=(),
    reasons={
        "supportedInstanceLabels": "the plugin runs on the instance types of the pools with EFA",
        "tolerations": "the plugin tolerates the taints of the pools with EFA",
        "image": "the nodes pull the image from the registry of their region",
    },
    relied_defaults=dict.fromkeys(
        ("nameOverride", "fullnameOverride"), "with another name, Argo CD replaces the DaemonSet and all its pods"
    ),
    ineffective={}, ineffective_because="", namespace_labels=PLATFORM, monitor=None, alerts={},
    alert_labels=lambda cluster: (), ready_check=None,
    preparation=Preparation(50, preparation),
    chapter=None, member_rights=(), auditor_rights=(),
    calls=None,
    # Source: aws/eks-charts v0.0.242 stable/aws-efa-k8s-device-plugin/templates/daemonset.yaml
    restarts=Restarts(
        in_pods=None,
        in_no_pod=("updateStrategy",),
        partial=(),
        effect=lambda values: (
            "the device plugin of EFA restarts on one node after the other; pods that run keep their devices"
        ),
    ),
    hashed_values={}, chart_labels=None,
    device_plugin=DevicePlugin("vpc.amazonaws.com/efa", (), "efa-k8s-device-plugin"),
    config_maps=(), rehearsal=None, needs=nothing,
)  # fmt: skip
