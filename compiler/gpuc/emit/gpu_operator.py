"""GPU Operator: how GPUs are shared and cut on each pool, what is measured, and the policy that names all of it."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.block import block_yaml
from gpuc.emit.cluster_policy import (
    DEFAULT_PLUGIN_CONFIG,
    METRIC_CONFIG,
    MIG_CONFIG,
    PLUGIN_CONFIG,
    agent_tolerations,
    cluster_policy,
)
from gpuc.emit.component import CLUSTER_ROLES, CONTROLLER, CRD, PLATFORM, PRIVILEGED, Component, Folder
from gpuc.emit.layout_gate import layout_gate
from gpuc.emit.metrics import metric_list
from gpuc.manifest.manifest import Artifact, Body, Values
from gpuc.model import Cluster, GpuPool
from gpuc.model.names import GPU
from gpuc.model.sharing import Sharing


def gpu_operator(cluster: Cluster) -> Iterator[Artifact]:
    """The operator's values, its policy, and the gate of pools whose MIG layout is applied after their nodes joined."""
    embedded: dict[str, Body] = {}
    body: Body = {
        "nfd": {"enabled": True},
        # The ClusterPolicy is an object of ours: the chart's own is refused by a server-side apply.
        "clusterPolicy": {"deployCR": False},
        # Its hook would run as PreSync at every sync; the chart's CRDs come with the chart's own folder.
        "operator": {"upgradeCRD": False},
        **_config_maps(cluster, embedded),
        # Its hook would take the labels of all nodes away when the Application is deleted, and the operands with them.
        "node-feature-discovery": {"worker": {"tolerations": agent_tolerations(cluster)}, "postDeleteCleanup": False},
    }
    yield Values(cluster.out("gpu-operator/values.yaml"), ("spec", "pools"), "gpu-operator", body, embedded)
    yield cluster_policy(cluster)
    yield from layout_gate(cluster)


def _config_maps(cluster: Cluster, embedded: dict[str, Body]) -> Body:
    """The values that the chart makes ConfigMaps of, by the operand that reads each."""
    data = {
        "devicePlugin": (PLUGIN_CONFIG, _plugin_configs(cluster.gpu_pools, embedded)),
        "migManager": (MIG_CONFIG, _mig_layouts(cluster.gpu_pools, embedded)),
        "dcgmExporter": (METRIC_CONFIG, metric_list(cluster)),
    }
    return {
        operand: {"config": {"create": True, "name": name, "data": content}}
        for operand, (name, content) in data.items()
        if content
    }


def _plugin_configs(pools: tuple[GpuPool, ...], embedded: dict[str, Body]) -> Body:
    """Configurations of the device plugin by name; none where the image has a device plugin of its own."""
    if pools[0].image.device_plugin == "image":
        return {}
    sharings = {pool.sharing.plugin_config: pool.sharing for pool in pools}
    sharings.setdefault(DEFAULT_PLUGIN_CONFIG, Sharing("exclusive"))
    return {name: _text(_plugin_config(sharings[name]), embedded) for name in sorted(sharings)}


def _text(document: Body, embedded: dict[str, Body]) -> str:
    """A document as a text of the values; what it says is kept for those who read it."""
    text = block_yaml(document)
    embedded[text] = document
    return text


def _plugin_config(sharing: Sharing) -> Body:
    """One configuration of the device plugin.

    Source: NVIDIA/k8s-device-plugin v0.20.0, api/config/v1
    """
    config: Body = {"version": "v1", "flags": {"migStrategy": sharing.strategy}}
    if sharing.mode == "shared":
        # Renamed, so that a share is never mistaken for a GPU; more than one share is no more compute.
        config["sharing"] = {
            sharing.kind: {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": GPU, "replicas": sharing.replicas}],
            }
        }
    return config


def _mig_layouts(pools: tuple[GpuPool, ...], embedded: dict[str, Body]) -> Body:
    """The file of the MIG manager with the layout of each pool that it cuts; none where it cuts none."""
    cut = [pool for pool in pools if pool.mig_by_operator]
    if not cut:
        return {}
    layouts: Body = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for pool in cut:
        layouts[pool.layout_name] = _mig_layout(pool)
    return {"config.yaml": _text({"version": "v1", "mig-configs": layouts}, embedded)}


def _mig_layout(pool: GpuPool) -> list[Body]:
    """The entry of one pool in the MIG manager's configuration: GPUs of the same layout together."""
    gpus = pool.sharing.gpus_by_layout
    if len(gpus) == 1:
        return [{"devices": "all", "mig-enabled": True, "mig-devices": dict(pool.sharing.layouts[0])}]
    return [
        {"devices": numbers, "mig-enabled": True, "mig-devices": dict(layout)}
        if layout
        else {"devices": numbers, "mig-enabled": False}
        for layout, numbers in gpus.items()
    ]


COMPONENT = Component(
    name="gpu-operator",
    wave=0,
    artifacts=gpu_operator,
    is_needed=lambda cluster: bool(cluster.gpu_pools),
    cluster_kinds=(
        CRD, *CLUSTER_ROLES, ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"), ("nvidia.com", "ClusterPolicy"),
    ),
    kinds=(*CONTROLLER, ("", "ConfigMap"), ("apps", "DaemonSet"), ("batch", "Job")),
    folders=(
        Folder(
            "gpu-operator/config", 5, "gpu-operator",
            ignored=({"group": "nvidia.com", "kind": "ClusterPolicy", "jsonPointers": ["/spec/cdi/default"]},),
        ),
    ),
    namespace_labels={**PLATFORM, **PRIVILEGED},
)  # fmt: skip
