"""The ClusterPolicy of the GPU Operator: which operands it runs, such as the device plugin, and their settings.

gpuc emits the ClusterPolicy, and disables the ClusterPolicy of the chart. The chart renders `spec.mig: null` unless its
values set one MIG strategy for the cluster. Server-side apply rejects the null, and a MIG strategy for the cluster
overrides the configuration of each pool.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates/clusterpolicy.yaml,
controllers/object_controls.go; NVIDIA/k8s-device-plugin v0.20.0 cmd/config-manager
"""

from collections.abc import Iterable, Sequence

from gpuc.emit.sync import wave
from gpuc.kubernetes.kueue import PODSET_LABEL
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import GPU
from gpuc.model.sharing import Sharing

NAME = "cluster-policy"
PLUGIN_CONFIG = "gpuc-device-plugin"
MIG_CONFIG = "gpuc-mig-layouts"
METRIC_CONFIG = "gpuc-dcgm-metrics"
DEFAULT_PLUGIN_CONFIG = Sharing("exclusive").plugin_config
_DRIVER_STARTUP: Body = {"initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 60, "failureThreshold": 120}
"""Startup probe of the driver: 60 s delay and 120 failures at 10 s, as in deployments/gpu-operator/values.yaml."""


def cluster_policy(cluster: Cluster) -> Manifest:
    """Returns the ClusterPolicy. All GPU pools must get toolkit and device plugin from the same source.

    The ClusterPolicy has no operands for virtual machines, because `sandboxWorkloads` disables these operands.
    """
    pools = cluster.gpu_pools
    spec: Body = {
        "hostPaths": {"rootFS": "/", "driverInstallDir": "/run/nvidia/driver"},
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": _daemonsets(cluster),
        "validator": _validator(cluster),
        "psa": {"enabled": True},
        "cdi": {"enabled": pools[0].image.toolkit == "operator"},
        "driver": _driver(cluster, [pool for pool in pools if pool.image.driver == "operator"]),
        "toolkit": _toolkit(cluster, pools[0]),
        "devicePlugin": _device_plugin(cluster, pools[0]),
        "dcgm": {"enabled": False},
        "dcgmExporter": _dcgm_exporter(cluster),
        "gfd": {"enabled": True, **_image(cluster, "gfd")},
        "migManager": _mig_manager(cluster),
        "nodeStatusExporter": {"enabled": False},
        "sandboxWorkloads": {"enabled": False},
    }
    file, body = cluster.out(f"gpu-operator/config/{NAME}.yaml"), {"spec": spec}
    return Manifest(file, ("spec", "pools"), "nvidia.com/v1", "ClusterPolicy", NAME, body, annotations=wave(1))


def _validator(cluster: Cluster) -> Body:
    """Returns the validator without the workloads that cannot run on all GPU nodes.

    - plugin: the workload requests a complete GPU, which nodes with MIG or shared GPUs do not have.
    - cuda, in clusters with MPS: the workload is no client of the MPS server. On a GPU in the compute mode
      EXCLUSIVE_PROCESS, it fails while the MPS server runs, and the validator never becomes ready after a restart.

    Source: NVIDIA/gpu-operator v26.7.0 cmd/nvidia-validator/main.go (CUDA.validate),
    validator/manifests/cuda-workload-validation.yaml; NVIDIA/k8s-device-plugin v0.20.0
    cmd/mps-control-daemon/mps/daemon.go (setComputeMode)
    """
    without_workload: Body = {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}
    body: Body = {**_image(cluster, "validator"), "plugin": without_workload}
    if any(pool.mps_user is not None for pool in cluster.gpu_pools):
        body["cuda"] = without_workload
    return body


def agent_tolerations(pools: Iterable[Pool]) -> list[Body]:
    """Returns tolerations for DaemonSets of the platform: for all taints of the pools, also their startup taint."""
    taints = {(taint.key, taint.effect) for pool in pools for taint in pool.agent_taints}
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]


def _image(cluster: Cluster, operand: str) -> Body:
    """Returns the image of an operand. Empty if the catalog has no images for this operator version (rule VER103)."""
    row = cluster.catalog.operands.get(cluster.components["gpu-operator"].version, {}).get(operand)
    if row is None:
        return {}
    return {"repository": row.repository, "image": row.image, "version": row.tag, "imagePullPolicy": "IfNotPresent"}


def _daemonsets(cluster: Cluster) -> Body:
    component = cluster.components["gpu-operator"]
    labels = {
        "app.kubernetes.io/managed-by": component.chart,
        "helm.sh/chart": f"{component.chart}-{component.version}",
    }
    return {
        # The labels of the chart. A change of the labels would restart all operands.
        "labels": labels,
        "tolerations": agent_tolerations(cluster.gpu_pools),
        "priorityClassName": "system-node-critical",
        "updateStrategy": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "1"},
    }


def _driver(cluster: Cluster, pools: Sequence[Pool]) -> Body:
    if not pools:
        return {"enabled": False}
    return {
        "enabled": True,
        "useNvidiaDriverCRD": False,
        "kernelModuleType": "auto",
        "usePrecompiled": False,
        **_image(cluster, "driver"),
        "startupProbe": _DRIVER_STARTUP,
        "rdma": {"enabled": False},
        "manager": _image(cluster, "driver.manager"),
        "upgradePolicy": _upgrades(pools),
    }


def _upgrades(pools: Sequence[Pool]) -> Body:
    """Returns how the operator upgrades the driver of running nodes.

    Nodes that the substrate replaces get a new driver with their replacement. Of nodes that exist, the operator
    upgrades as many at a time as the pool with the fewest spares can miss. It cordons a node, waits until the pods that
    Kueue has started there have ended, and evicts the other pods with GPUs, which use emptyDir for shared memory.
    Nodes that are cordoned or not ready count as unavailable, so excluded nodes add to their number.

    Source: NVIDIA/gpu-operator v26.7.0 vendor/github.com/NVIDIA/k8s-operator-libs/pkg/upgrade: common_manager.go
    (GetUpgradesAvailable), pod_manager.go (ScheduleCheckOnPodCompletion, SchedulePodEviction);
    kubernetes-sigs/kueue v0.19.2 pkg/controller/jobframework/reconciler.go (getPodSetsInfoFromStatus)
    """
    if any(pool.scaling is not None for pool in pools):
        return {"autoUpgrade": False}
    at_once = max(1, min(pool.spares for pool in pools))
    return {
        "autoUpgrade": True,
        "maxParallelUpgrades": at_once,
        "maxUnavailable": at_once + sum(pool.excluded for pool in pools),
        "waitForCompletion": {"podSelector": PODSET_LABEL, "timeoutSeconds": 0},
        "podDeletion": {"force": False, "timeoutSeconds": 300, "deleteEmptyDir": True},
        "drain": {"enable": False},
    }


def _toolkit(cluster: Cluster, pool: Pool) -> Body:
    if pool.image.toolkit != "operator":
        return {"enabled": False}
    # GPU isolation needs these two settings and the list strategy of the device plugin. If the node image contains
    # the toolkit, user data writes the same settings into the runtime configuration of the host.
    switches = [
        {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"},
        {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS", "value": "true"},
    ]
    return {"enabled": True, **_image(cluster, "toolkit"), "env": switches, "installDir": "/usr/local/nvidia"}


def _device_plugin(cluster: Cluster, pool: Pool) -> Body:
    if pool.image.device_plugin == "image":
        return {"enabled": False}
    # The toolkit of the operator injects devices by CDI. The toolkit of an image reads the volume mounts. Each way to
    # give GPUs to a container is also a way around their isolation, so no other way is enabled.
    strategy = "cdi-cri,cdi-annotations,volume-mounts" if pool.image.toolkit == "operator" else "volume-mounts"
    return {
        "enabled": True,
        **_image(cluster, "devicePlugin"),
        "env": [{"name": "DEVICE_LIST_STRATEGY", "value": strategy}],
        "config": {"name": PLUGIN_CONFIG, "default": DEFAULT_PLUGIN_CONFIG},
    }


def _mig_manager(cluster: Cluster) -> Body:
    mig_pools = [pool for pool in cluster.gpu_pools if pool.mig_by_operator]
    if not mig_pools:
        return {"enabled": False}
    body: Body = {
        "enabled": True,
        **_image(cluster, "migManager"),
        "config": {"name": MIG_CONFIG, "default": "all-disabled"},
    }
    if any(pool.gpu is not None and pool.gpu.architecture == "ampere" for pool in mig_pools):
        # On Ampere, a change of the MIG mode needs a GPU reset, which may be impossible in a virtual machine.
        body["env"] = [{"name": "WITH_REBOOT", "value": "true"}]
    return body


def _dcgm_exporter(cluster: Cluster) -> Body:
    body: Body = {
        "enabled": True,
        **_image(cluster, "dcgmExporter"),
        "config": {"name": METRIC_CONFIG},
        "enablePodLabels": True,
        "podLabelAllowlistRegex": [r"^kueue\.x-k8s\.io/queue-name$"],
        "service": {"internalTrafficPolicy": "Cluster"},
        # gpuc emits its own ServiceMonitor in monitoring/, so that a new section `observability` changes no operand.
        "serviceMonitor": {"enabled": False},
    }
    shared = sorted({name for pool in cluster.gpu_pools for name in pool.gpu_resource_names if _is_renamed(name)})
    if shared:
        # Without the first variable, the metrics of a shared GPU have the name of only one of its pods. Without the
        # second variable, they have the name of no pod.
        names = {"KUBERNETES_VIRTUAL_GPUS": "true", "NVIDIA_RESOURCE_NAMES": ",".join(shared)}
        body["env"] = [{"name": name, "value": value} for name, value in names.items()]
    return body


def _is_renamed(resource: str) -> bool:
    """Returns whether the exporter finds the pods of a resource only if NVIDIA_RESOURCE_NAMES contains its name.

    Source: NVIDIA/dcgm-exporter 7ad58324 (release 4.6.0-4.8.3) internal/pkg/transformation/kubernetes.go
    (iterateGPUDevices)
    """
    return resource != GPU and not resource.startswith("nvidia.com/mig-")
