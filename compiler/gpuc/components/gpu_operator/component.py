"""GPU Operator: Helm values, settings of GPU sharing, MIG layouts and metrics, and the ClusterPolicy that uses them."""

from collections.abc import Iterator

from gpuc.components.gpu_operator.alerts import alert_labels, gpu_alerts, node_alerts
from gpuc.components.gpu_operator.cluster_policy import (
    DEFAULT_PLUGIN_CONFIG,
    METRIC_CONFIG,
    MIG_CONFIG,
    NAME,
    PLUGIN_CONFIG,
    agent_tolerations,
    cluster_policy,
)
from gpuc.components.gpu_operator.gpu_gate import gpu_gate
from gpuc.components.gpu_operator.records import gpu_records
from gpuc.diagnostics.finding import Path
from gpuc.emit import component as parts
from gpuc.emit import component_facts as facts
from gpuc.emit.block import block_yaml
from gpuc.emit.substrate import substrate_output
from gpuc.manifest.manifest import Artifact, Body, RunsOn, Values
from gpuc.model import Cluster, GpuPool, Pool
from gpuc.model.names import GPU
from gpuc.model.sharing import Sharing

SYSTEM_PODS: dict[Path, RunsOn] = {
    ("operator",): "system nodes",
    ("node-feature-discovery", "master"): "system nodes",
    ("node-feature-discovery", "gc"): "system nodes",
}
NFD_NAMES = "with another name, Argo CD replaces Node Feature Discovery, whose labels the operator needs"
"""The reason for the names of the objects of Node Feature Discovery."""

_CONFIG_MAP = ("config.create", "config.name", "config.data")
_IMAGE = ("repository", "image", "version")
_EFFECTIVE = {
    "devicePlugin": _CONFIG_MAP,
    "migManager": _CONFIG_MAP,
    "dcgmExporter": _CONFIG_MAP,
    "driver": tuple(f"manager.{key}" for key in _IMAGE),
    "validator": _IMAGE,
}
"""Helm values that have an effect although they are below a key of INEFFECTIVE, such as names of ConfigMaps."""
_INEFFECTIVE = (
    "psa", "cdi", "sandboxWorkloads", "hostPaths", "daemonsets", "validator", "mig", "driver", "toolkit",
    "devicePlugin", "dcgm", "dcgmExporter", "gfd", "migManager", "nodeStatusExporter", "gds", "gdrcopy", "vgpuManager",
    "vgpuDeviceManager", "vfioManager", "kataManager", "sandboxDevicePlugin", "kataSandboxDevicePlugin", "ccManager",
    "draDriver", "operator.defaultGPUMode", "operator.metrics", "operator.runtimeClass",
    "operator.use_ocp_driver_toolkit",
)  # fmt: skip
INEFFECTIVE = {path: tuple(f"{path}.{key}" for key in _EFFECTIVE.get(path, ())) for path in _INEFFECTIVE}
"""Helm values that only the templates of ClusterPolicy, GPUCluster and NVIDIADriver read, or that `fail` checks.

The operator ignores an NVIDIADriver object unless the ClusterPolicy enables the objects of this kind.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates, controllers/nvidiadriver_controller.go
"""


def gpu_operator(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the Helm values, the ClusterPolicy, and the DaemonSets that remove the startup taint of GPU nodes."""
    embedded: dict[str, Body] = {}
    # With this setting, node feature discovery also sets the taints of NodeFeatureRules. Source:
    # kubernetes-sigs/node-feature-discovery v0.19.0 docs/reference/master-configuration-reference.md, enableTaints
    by_rules = substrate_output(cluster).labels_by_rules
    feature_rules = {"config": {"enableTaints": True}} if by_rules else {}
    # Without its worker, a node loses the labels and taints of its pool.
    labelled: tuple[Pool, ...] = cluster.pools if by_rules else cluster.gpu_pools
    workers: dict[Path, RunsOn] = {("node-feature-discovery", "worker"): "pool nodes" if by_rules else "GPU nodes"}
    body: Body = {
        "nfd": {"enabled": True},
        # gpuc emits the ClusterPolicy. Server-side apply rejects the ClusterPolicy that the chart renders.
        "clusterPolicy": {"deployCR": False},
        # The hook would run at every sync (PreSync). Argo CD applies the CRDs from the chart's crds/ folder instead.
        "operator": {"upgradeCRD": False, **parts.on_system_nodes(cluster)},
        **_config_maps(cluster, embedded),
        # The hook would remove the labels of all nodes, and so all operands, when the Application is deleted.
        "node-feature-discovery": {
            "master": {**parts.on_system_nodes(cluster), **feature_rules},
            "gc": parts.on_system_nodes(cluster),
            "worker": {"tolerations": agent_tolerations(labelled)},
            "postDeleteCleanup": False,
        },
    }
    pods = SYSTEM_PODS | workers
    yield Values(cluster.values_file("gpu-operator"), ("spec", "pools"), "gpu-operator", body, embedded, pods=pods)
    yield cluster_policy(cluster)
    yield from gpu_gate(cluster)


def _config_maps(cluster: Cluster, embedded: dict[str, Body]) -> Body:
    """Returns the values from which the chart creates ConfigMaps, by operand."""
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
    """Returns the configurations of the device plugin by name. Empty if the node image contains a device plugin."""
    if pools[0].image.device_plugin == "image":
        return {}
    sharings = {pool.sharing.plugin_config: pool.sharing for pool in pools}
    sharings.setdefault(DEFAULT_PLUGIN_CONFIG, Sharing("exclusive"))
    return {name: _embed(_plugin_config(sharings[name]), embedded) for name in sorted(sharings)}


def _embed(document: Body, embedded: dict[str, Body]) -> str:
    """Returns the YAML text of a document, and stores the document in `embedded` under this text."""
    text = block_yaml(document)
    embedded[text] = document
    return text


def _plugin_config(sharing: Sharing) -> Body:
    """Returns the configuration of the device plugin for one kind of sharing.

    Source: NVIDIA/k8s-device-plugin v0.20.0, api/config/v1
    """
    config: Body = {"version": "v1", "flags": {"migStrategy": sharing.strategy}}
    if sharing.mode == "shared":
        # The shares get the resource name nvidia.com/gpu.shared, so they are not counted as complete GPUs. Two shares
        # do not give more compute than one share.
        config["sharing"] = {
            sharing.kind: {
                "renameByDefault": True,
                "failRequestsGreaterThanOne": True,
                "resources": [{"name": GPU, "replicas": sharing.replicas}],
            }
        }
    return config


def _mig_layouts(pools: tuple[GpuPool, ...], embedded: dict[str, Body]) -> Body:
    """Returns the configuration file of the MIG manager. Empty if the GPU Operator partitions the GPUs of no pool."""
    mig_pools = [pool for pool in pools if pool.mig_by_operator]
    if not mig_pools:
        return {}
    layouts: Body = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for pool in mig_pools:
        layouts[pool.layout_name] = _mig_layout(pool)
    return {"config.yaml": _embed({"version": "v1", "mig-configs": layouts}, embedded)}


def _mig_layout(pool: GpuPool) -> list[Body]:
    """Returns the MIG layout of a pool, with one entry for all GPUs that have the same layout."""
    gpus = pool.sharing.gpus_by_layout
    if len(gpus) == 1:
        return [{"devices": "all", "mig-enabled": True, "mig-devices": dict(pool.sharing.layouts[0])}]
    return [
        {"devices": numbers, "mig-enabled": True, "mig-devices": dict(layout)}
        if layout
        else {"devices": numbers, "mig-enabled": False}
        for layout, numbers in gpus.items()
    ]


def metric_list(cluster: Cluster) -> str:
    """Returns the metrics that the DCGM exporter exports, as lines of the form `name, type, help`.

    A custom list replaces the default list of the DCGM exporter, so the custom list contains the default metrics too.
    """
    metrics = cluster.catalog.dcgm_metrics
    exported = (metrics[name] for name in sorted(metrics) if metrics[name].default or metrics[name].is_added)
    return "".join(f"{metric.name}, {metric.type}, {metric.help}\n" for metric in exported)


def _chapter(cluster: Cluster) -> dict[str, object]:
    return {
        "operator_namespace": cluster.components["gpu-operator"].namespace,
        "by_operator": [pool for pool in cluster.gpu_pools if pool.mig_by_operator],
        "reporting": [pool for pool in cluster.gpu_pools if pool.reports_gpus],
        "unchecked": [pool for pool in cluster.gpu_pools if pool.has_nvswitch and not pool.reports_gpus],
        "own_scripts": [pool for pool in cluster.pools if pool.own_user_data and pool.judges_user_data],
    }


METRICS: Body = {
    "endpoints": [
        {
            "port": "gpu-metrics",
            "path": "/metrics",
            "interval": "15s",
            "scrapeTimeout": "10s",
            # The labels namespace and pod name the pod that uses the GPU, not the exporter.
            "honorLabels": True,
        }
    ],
    "jobLabel": "app",
}
"""Source: NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter (service, service monitor)"""

RESTARTS = facts.Restarts(
    in_pods=(
        "operator", "nfd.enabled", "node-feature-discovery", *(f"driver.manager.{key}" for key in _IMAGE),
        *(f"validator.{key}" for key in _IMAGE),
    ),
    in_no_pod=(
        "node-feature-discovery.gc.replicaCount", "node-feature-discovery.master.replicaCount",
        "node-feature-discovery.postDeleteCleanup", "node-feature-discovery.prometheus",
        "node-feature-discovery.worker.updateStrategy", "operator.cleanupCRD", "operator.defaultGPUMode",
        "operator.metrics", "operator.runtimeClass", "operator.upgradeCRD", "operator.use_ocp_driver_toolkit",
    ),
    partial=(),
    effect=lambda values: "pods that run keep their GPUs",
)  # fmt: skip
"""The other values are in ConfigMaps and in the ClusterPolicy.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator: templates/operator.yaml, templates/plugin_config.yaml,
templates/dcgm_exporter_config.yaml, charts/node-feature-discovery/templates
"""
DCGM = frozenset(("nvidia-dcgm-exporter",))

COMPONENT = parts.Component(
    name="gpu-operator",
    title="the GPU Operator",
    section=("spec", "pools"),
    wave=0,
    artifacts=gpu_operator,
    is_needed=lambda cluster: bool(cluster.gpu_pools),
    may_need_refresh=True, keeps_definitions=False,
    chart_cluster_kinds=(parts.CRD, *parts.CLUSTER_ROLES),
    chart_kinds=(*parts.CONTROLLER, ("", "ConfigMap"), ("apps", "DaemonSet"), ("batch", "Job")),
    cluster_kinds=(*parts.CLUSTER_ROLES, *parts.ADMISSION_POLICIES, ("nvidia.com", "ClusterPolicy")),
    kinds=(("", "ServiceAccount"), ("apps", "DaemonSet")),
    reasons={
        "nfd": "the operator finds GPU nodes by the labels of Node Feature Discovery",
        "clusterPolicy": "gpuc emits the ClusterPolicy",
        "operator": f"{parts.SYSTEM_PODS}; Argo CD would run the hook that upgrades CRDs at every sync",
        "devicePlugin.config": "the ClusterPolicy and the labels of the pools name these configurations",
        "migManager.config": "the ClusterPolicy and the labels of the pools name these MIG layouts",
        "dcgmExporter.config": "the alerts need these metrics, and the ClusterPolicy names their ConfigMap",
        "node-feature-discovery.master.config": "otherwise the taints of NodeFeatureRules have no effect",
        "node-feature-discovery.postDeleteCleanup": "true removes labels and taints of all nodes with the chart",
        "node-feature-discovery": "the workers tolerate the taints of the pools; all other pods run on system nodes",
    },
    relied_defaults={
        "gpuCluster.deployCR": "gpuc emits a ClusterPolicy, and only one of ClusterPolicy and GPUCluster can exist",
        "node-feature-discovery.nameOverride": NFD_NAMES,
        "node-feature-discovery.fullnameOverride": NFD_NAMES,
        "node-feature-discovery.namespaceOverride": NFD_NAMES,
    },
    ineffective=INEFFECTIVE,
    ineffective_because=f"gpuc emits the ClusterPolicy; patch ClusterPolicy {NAME} instead",
    folders=(parts.Folder("gpu-operator/config", "configuration of the GPU Operator", 5),),
    ignored=(),
    namespace_labels={**parts.PLATFORM, **parts.PRIVILEGED},
    monitor=parts.Monitor(METRICS, {"app": "nvidia-dcgm-exporter"}),
    alerts={"records": gpu_records, "gpu": gpu_alerts, "nodes": node_alerts},
    alert_labels=alert_labels,
    ready_check=facts.ReadyCheck("The state of the ClusterPolicy is ready", "get clusterpolicies.nvidia.com"),
    preparation=None, chapter=facts.Chapter("checks", _chapter),
    member_rights=(),
    auditor_rights=(("nvidia.com", ("clusterpolicies", "nvidiadrivers"), facts.READ),),
    calls=None, restarts=RESTARTS, hashed_values={},
    # Source: NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter
    chart_labels=facts.ChartLabels({"app": DCGM, "app.kubernetes.io/component": DCGM}, {"app": DCGM}, has_all=False),
    # Source: NVIDIA/k8s-device-plugin deployments/helm
    device_plugin=facts.DevicePlugin("nvidia.com/", ("nvidia-device-plugin",), "k8s-device-plugin"),
    config_maps=(
        # Keys: NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go, assets/state-mig-manager/0600_daemonset.yaml
        facts.ConfigMapValue(
            ("devicePlugin", "config"), has_default_key=True, programs=("nvidia-device-plugin", "/k8s-device-plugin"),
        ),
        facts.ConfigMapValue(
            ("migManager", "config"), has_default_key=False, mounted_key="config.yaml",
            programs=("mig-manager", "mig-parted"),
        ),
        facts.ConfigMapValue(("migManager", "gpuClientsConfig"), has_default_key=False, mounted_key="clients.yaml"),
        facts.ConfigMapValue(("dcgmExporter", "config"), has_default_key=False, mounted_key="dcgm-metrics.csv"),
    ),
    rehearsal=None, needs=facts.nothing,
)  # fmt: skip
