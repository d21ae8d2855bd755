"""The ClusterPolicy: which operands the GPU Operator runs, from which images, and with which settings.

The operator's chart would render it, with a null at `spec.mig` unless its values name one MIG strategy for the whole
cluster. A server-side apply refuses the null, and a strategy there overrules the configuration of every pool.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/templates/clusterpolicy.yaml,
controllers/object_controls.go; NVIDIA/k8s-device-plugin v0.20.0 cmd/config-manager
"""

from __future__ import annotations

from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.sharing import Sharing

NAME = "cluster-policy"
PLUGIN_CONFIG = "gpuc-device-plugin"
MIG_CONFIG = "gpuc-mig-layouts"
METRIC_CONFIG = "gpuc-dcgm-metrics"
DEFAULT_PLUGIN_CONFIG = Sharing("exclusive").plugin_config
_DRIVER_STARTUP: Body = {"initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 60, "failureThreshold": 120}
"""How long a driver may take to build and load: two minutes short of 22 (deployments/gpu-operator/values.yaml)."""


def cluster_policy(cluster: Cluster) -> Manifest:
    """The policy of a cluster with GPU pools, which agree on who installs what.

    Operands of virtual machines are left out: `sandboxWorkloads` switches all of them off.
    """
    pools = cluster.gpu_pools
    spec: Body = {
        "hostPaths": {"rootFS": "/", "driverInstallDir": "/run/nvidia/driver"},
        "operator": {"runtimeClass": "nvidia"},
        "daemonsets": _daemonsets(cluster),
        # A workload of its own would need a GPU on each node, which sliced and shared nodes do not have.
        "validator": {
            **_image(cluster, "validator"),
            "plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]},
        },
        "psa": {"enabled": True},
        "cdi": {"enabled": pools[0].image.toolkit == "operator"},
        "driver": _driver(cluster, pools[0]),
        "toolkit": _toolkit(cluster, pools[0]),
        "devicePlugin": _device_plugin(cluster, pools[0]),
        "dcgm": {"enabled": False},
        "dcgmExporter": _dcgm_exporter(cluster),
        "gfd": {"enabled": True, **_image(cluster, "gfd")},
        "migManager": _mig_manager(cluster),
        "nodeStatusExporter": {"enabled": False},
        "sandboxWorkloads": {"enabled": False},
    }
    return Manifest(
        file=cluster.out(f"gpu-operator/config/{NAME}.yaml"),
        origin=("spec", "pools"),
        api="nvidia.com/v1",
        kind="ClusterPolicy",
        name=NAME,
        annotations=wave(1),
        body={"spec": spec},
    )


def agent_tolerations(cluster: Cluster) -> list[Body]:
    """Of node agents: every key that any GPU pool is tainted with, and that of layouts that are not there yet."""
    taints = {(taint.key, taint.effect) for pool in cluster.gpu_pools for taint in pool.agent_taints}
    return [{"key": key, "operator": "Exists", "effect": effect} for key, effect in sorted(taints)]


def _image(cluster: Cluster, operand: str) -> Body:
    """Repository, image and version of an operand; nothing where the operator's version has no rows (VER103)."""
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
        # A change of labels restarts every operand; these are the chart's own.
        "labels": labels,
        "tolerations": agent_tolerations(cluster),
        "priorityClassName": "system-node-critical",
        "updateStrategy": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "1"},
    }


def _driver(cluster: Cluster, pool: Pool) -> Body:
    if pool.image.driver != "operator":
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
        # A new driver comes with a new node: nothing drains nodes under running work.
        "upgradePolicy": {"autoUpgrade": False},
    }


def _toolkit(cluster: Cluster, pool: Pool) -> Body:
    if pool.image.toolkit != "operator":
        return {"enabled": False}
    # One half of the isolation pair; the other is the device plugin's list strategy. On images with a toolkit
    # of their own, user data writes the same two switches into the host's runtime configuration.
    switches = [
        {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"},
        {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_AS_VOLUME_MOUNTS", "value": "true"},
    ]
    return {"enabled": True, **_image(cluster, "toolkit"), "env": switches, "installDir": "/usr/local/nvidia"}


def _device_plugin(cluster: Cluster, pool: Pool) -> Body:
    if pool.image.device_plugin == "image":
        return {"enabled": False}
    # The operator's toolkit injects by CDI; the nvidia runtime of an image with a toolkit reads the mounts.
    strategy = "cdi-cri,cdi-annotations,volume-mounts" if pool.image.toolkit == "operator" else "volume-mounts"
    return {
        "enabled": True,
        **_image(cluster, "devicePlugin"),
        "env": [{"name": "DEVICE_LIST_STRATEGY", "value": strategy}],
        "config": {"name": PLUGIN_CONFIG, "default": DEFAULT_PLUGIN_CONFIG},
    }


def _mig_manager(cluster: Cluster) -> Body:
    cut = [pool for pool in cluster.gpu_pools if pool.mig_by_operator]
    if not cut:
        return {"enabled": False}
    body: Body = {
        "enabled": True,
        **_image(cluster, "migManager"),
        "config": {"name": MIG_CONFIG, "default": "all-disabled"},
    }
    if any(pool.gpu is not None and pool.gpu.architecture == "ampere" for pool in cut):
        # On Ampere the mode waits for a GPU reset, which a virtual machine may not be able to make.
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
        "serviceMonitor": {
            "enabled": True,
            "interval": "15s",
            "scrapeTimeout": "10s",
            # The namespace and pod of a series are those of the work, not those of the exporter.
            "honorLabels": True,
            "additionalLabels": {"release": cluster.spec.observability.prometheus.release},
        },
    }
    if any(pool.sharing and pool.sharing.mode == "shared" for pool in cluster.gpu_pools):
        # Else a shared GPU's series name one of its pods, or none.
        body["env"] = [{"name": "KUBERNETES_VIRTUAL_GPUS", "value": "true"}]
    return body
