"""GPU Operator: who installs the driver, how GPUs are shared on each pool, and what is measured."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.emit.block import block_yaml
from compiler.emit.layout_gate import layout_gate
from compiler.emit.metrics import metric_list
from compiler.manifest import Artifact, Body, Values
from compiler.model import Cluster, Pool
from compiler.model.names import GPU
from compiler.model.sharing import Sharing

NAMESPACE = "gpu-operator"
PLUGIN_CONFIG = "gpuc-device-plugin"
MIG_CONFIG = "gpuc-mig-layouts"
METRIC_CONFIG = "gpuc-dcgm-metrics"
DEFAULT_PLUGIN_CONFIG = Sharing("exclusive").plugin_config


def gpu_operator(cluster: Cluster) -> Iterator[Artifact]:
    """The operator's values, and the gate of pools whose MIG layout is applied after their nodes joined."""
    pools = cluster.gpu_pools
    if not pools:
        return
    said: dict[str, Body] = {}
    body: Body = {
        "nfd": {"enabled": True},
        "gfd": {"enabled": True},
        "psa": {"enabled": True},
        # Its hook would run as PreSync at every sync; the chart's CRDs come with the chart's own folder.
        "operator": {"upgradeCRD": False},
        # Left to the device plugin's configuration: the ClusterPolicy would overrule every pool's own.
        "mig": {"strategy": ""},
        **_host_software(cluster, pools[0]),
        "devicePlugin": _device_plugin(pools, said),
        "migManager": _mig_manager(pools, said),
        "dcgm": {"enabled": False},
        "dcgmExporter": _dcgm_exporter(cluster, pools),
        # It would need a GPU of its own on each node, which sliced and shared nodes do not have.
        "validator": {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}},
        "daemonsets": {"tolerations": _tolerations(pools)},
        # Its hook would take the labels of all nodes away when the Application is deleted, and the operands with them.
        "node-feature-discovery": {"worker": {"tolerations": _tolerations(pools)}, "postDeleteCleanup": False},
    }
    yield Values(cluster.out("gpu-operator/values.yaml"), ("spec", "pools"), "gpu-operator", body, said)
    yield from layout_gate(cluster)


def _host_software(cluster: Cluster, pool: Pool) -> Body:
    """Driver, container toolkit and CDI; one ClusterPolicy serves the cluster, so all GPU pools agree on them."""
    driver: Body = {"enabled": pool.image.driver == "operator"}
    if driver["enabled"]:
        driver["version"] = cluster.components["gpu-operator"].default_driver
        driver["kernelModuleType"] = "auto"
        # A new driver comes with a new node: nothing drains nodes under running work.
        driver["upgradePolicy"] = {"autoUpgrade": False}
    by_operator = pool.image.toolkit == "operator"
    toolkit: Body = {"enabled": by_operator}
    if by_operator:
        # One half of the isolation pair; the other is the device plugin's list strategy. On images with a toolkit
        # of their own, user data writes the same two switches into the host's runtime configuration.
        toolkit["env"] = [
            {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"},
            {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS", "value": "true"},
        ]
    return {"driver": driver, "toolkit": toolkit, "cdi": {"enabled": by_operator}}


def _device_plugin(pools: tuple[Pool, ...], said: dict[str, Body]) -> Body:
    if pools[0].image.device_plugin == "image":
        return {"enabled": False}
    # The operator's toolkit injects by CDI; the nvidia runtime of an image with a toolkit reads the mounts.
    strategy = "cdi-cri,cdi-annotations,volume-mounts" if pools[0].image.toolkit == "operator" else "volume-mounts"
    sharings = {pool.sharing.plugin_config: pool.sharing for pool in pools if pool.sharing}
    sharings.setdefault(DEFAULT_PLUGIN_CONFIG, Sharing("exclusive"))
    return {
        "enabled": True,
        "env": [{"name": "DEVICE_LIST_STRATEGY", "value": strategy}],
        "config": {
            "create": True,
            "name": PLUGIN_CONFIG,
            "default": DEFAULT_PLUGIN_CONFIG,
            "data": {name: _text(_plugin_config(sharings[name]), said) for name in sorted(sharings)},
        },
    }


def _text(document: Body, said: dict[str, Body]) -> str:
    """A document as a text of the values; what it says is kept for those who read it."""
    text = block_yaml(document)
    said[text] = document
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


def _mig_manager(pools: tuple[Pool, ...], said: dict[str, Body]) -> Body:
    cut = [pool for pool in pools if pool.mig_by_operator]
    if not cut:
        return {"enabled": False}
    layouts: Body = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for pool in cut:
        layouts[pool.layout_name] = _mig_layout(pool)
    text = _text({"version": "v1", "mig-configs": layouts}, said)
    config = {"create": True, "name": MIG_CONFIG, "default": "all-disabled", "data": {"config.yaml": text}}
    body: Body = {"enabled": True, "config": config}
    if any(pool.gpu is not None and pool.gpu.architecture == "ampere" for pool in cut):
        # On Ampere the mode waits for a GPU reset, which a virtual machine may not be able to make.
        body["env"] = [{"name": "WITH_REBOOT", "value": "true"}]
    return body


def _mig_layout(pool: Pool) -> list[Body]:
    """The entry of one pool in the MIG manager's configuration: GPUs of the same layout together."""
    assert pool.sharing is not None, "only pools with MIG have a layout"
    gpus: dict[tuple[tuple[str, int], ...], list[int]] = {}
    for index, layout in enumerate(pool.sharing.layouts):
        gpus.setdefault(layout, []).append(index)
    if len(gpus) == 1:
        return [{"devices": "all", "mig-enabled": True, "mig-devices": dict(pool.sharing.layouts[0])}]
    return [
        {"devices": indices, "mig-enabled": True, "mig-devices": dict(layout)}
        if layout
        else {"devices": indices, "mig-enabled": False}
        for layout, indices in gpus.items()
    ]


def _dcgm_exporter(cluster: Cluster, pools: tuple[Pool, ...]) -> Body:
    observability = cluster.spec.observability
    body: Body = {
        "enabled": True,
        "config": {"create": True, "name": METRIC_CONFIG, "data": metric_list(cluster)},
        "enablePodLabels": True,
        "podLabelAllowlistRegex": [r"^kueue\.x-k8s\.io/queue-name$"],
        "serviceMonitor": {
            "enabled": True,
            "interval": "15s",
            "scrapeTimeout": "10s",
            # The namespace and pod of a series are those of the work, not those of the exporter.
            "honorLabels": True,
            "additionalLabels": {"release": observability.prometheus.release},
        },
    }
    if any(pool.sharing and pool.sharing.mode == "shared" for pool in pools):
        # Else a shared GPU's series name one of its pods, or none.
        body["env"] = [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    return body


def _tolerations(pools: tuple[Pool, ...]) -> list[Body]:
    """Of node agents: every key that any GPU pool is tainted with, and that of layouts that are not there yet."""
    taints = {(taint.key, taint.effect) for pool in pools for taint in pool.agent_taints}
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]
