"""The user data of nodes: text that a node reads at its first start. The format depends on the family of the image.

- Amazon Linux 2023: a shell script that installs systemd units, and a NodeConfig for the kubelet.
- Bottlerocket: TOML settings, which Karpenter merges with Karpenter's settings.
- Ubuntu: a script that joins the cluster, because Karpenter adds nothing for the AMI family Custom.
"""

from collections.abc import Callable
from pathlib import Path

from gpuc.emit.template import render
from gpuc.kubernetes.amounts import CPU, quantity_text
from gpuc.model import Cluster, GpuPool, Pool
from gpuc.model.layout import place
from gpuc.model.names import GPUS_CONDITION, GPUS_TAINT
from gpuc.spec.node_settings import BOUNDARY
from gpuc.substrates.eks.scaling import SYSTEM_CPU_MILLI, aws, eks

TOPOLOGY_POLICY = "best-effort"
"""Align cores, GPUs and EFA devices where possible, and never reject a pod.

The scheduler does not know NUMA nodes. The policies restricted and single-numa-node reject pods that Kueue has already
admitted (TopologyAffinityError), and the gang fails. A pod that uses a complete node spans all NUMA nodes under all
policies except single-numa-node, which rejects it.
"""

TOPOLOGY_OPTION = "prefer-closest-numa-nodes"
"""If a container needs several NUMA nodes, prefer adjacent NUMA nodes. Stable since Kubernetes 1.32."""
_FABRIC_STATES = ("hopper", "blackwell")
"""GPU architectures whose GPUs have a fabric state in nvidia-smi -q: NVSwitches of the third generation and later."""
NO_TAINT_REMOVAL = f"The node keeps the taint {GPUS_TAINT}."
"""What the serial console says about a GPU node whose userData failed."""
NO_JOIN = "The node does not join the cluster."
"""What the serial console says about a node without a GPU report whose userData failed."""
FOLDER = Path(__file__).parent
"""The folder of the templates."""


def user_data(cluster: Cluster, pool: Pool) -> str:
    """Returns the user data that gpuc writes for the nodes of a pool. It may be empty: Karpenter adds its own."""
    return _RENDERERS[pool.image.id](cluster, pool)


def _al2023(cluster: Cluster, pool: Pool) -> str:
    """Returns a MIME archive, to which Karpenter adds its own NodeConfig. Empty if the nodes need no user data of gpuc.

    cloud-init runs the scripts in the order of the archive. It runs the second script even if the first fails. The
    script of the spec is the second script, so it cannot prevent the script of gpuc from running. Its failure sets the
    condition of a GPU node, and keeps other nodes out of the cluster. Karpenter would read a script outside of an
    archive as a NodeConfig if the script happens to be valid YAML.

    The node joins the cluster before its GPUs are prepared: Karpenter waits only 15 minutes for a node to join. The
    GPU gate removes the startup taint of the node after the GPUs are prepared.

    Source: awslabs/amazon-eks-ami v20260724: nodeadm-run.service starts the kubelet after cloud-init is done;
    templates/al2023/runtime/gpu has the units that load the driver and use the GPUs; aws/karpenter-provider-aws v1.14.1
    pkg/providers/amifamily/bootstrap/nodeadm.go (parseUserData); canonical/cloud-init 22.2 cloudinit/subp.py (runparts)
    """
    has_part = pool.is_gpu or pool.has_efa
    if not has_part and not pool.own_user_data:
        return ""
    return render(
        FOLDER,
        "al2023.j2",
        pool=pool,
        eks=eks(pool),
        has_part=has_part,
        boundary=BOUNDARY,
        result=NO_TAINT_REMOVAL if pool.is_gpu else NO_JOIN,
        stops_kubelet=not pool.is_gpu,
        topology_policy=TOPOLOGY_POLICY,
        topology_option=TOPOLOGY_OPTION,
        layouts=_gpus_by_layout(pool) if pool.mig_by_user_data else (),
        gpu_count=_uniform_gpu_count(pool),
        condition=GPUS_CONDITION,
        taint=GPUS_TAINT,
        **_hardware(pool),
    )


def _hardware(pool: Pool) -> dict[str, bool]:
    """Returns the properties of the GPUs that the script checks.

    Source: NVIDIA Fabric Manager User Guide 2.3, "Checking the fabric state"; NVIDIA MIG User Guide, "GPU reset"
    """
    architecture = pool.gpu.architecture if isinstance(pool, GpuPool) else ""
    has_nvswitch = pool.is_gpu and all(instance.nvswitch for instance in pool.instances)
    return {
        "has_nvswitch": has_nvswitch,
        "has_fabric_state": has_nvswitch and architecture in _FABRIC_STATES,
        "is_ampere": architecture == "ampere",
    }


def _gpus_by_layout(pool: Pool) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Returns pairs of GPU numbers and the MIG instances of these GPUs, as `profile id:start`, largest first.

    An empty tuple of GPU numbers means all GPUs. The start positions are explicit, because the driver can choose
    positions that leave no space for the last instance.
    """
    assert isinstance(pool, GpuPool), "only pools with MIG have a layout"
    numbers = pool.sharing.gpus_by_layout
    is_single = len(numbers) == 1
    return [(() if is_single else tuple(gpus), _instances(pool, dict(layout))) for layout, gpus in numbers.items()]


def _uniform_gpu_count(pool: Pool) -> int:
    """Returns the number of GPUs of a node, or 0 if the instance types of the pool differ."""
    counts = {instance.gpu_count for instance in pool.instances}
    return counts.pop() if len(counts) == 1 else 0


def _instances(pool: GpuPool, layout: dict[str, int]) -> tuple[str, ...]:
    placed = place(layout, pool.profiles)
    assert placed is not None, "the model contains only layouts that fit"
    return tuple(
        f"{pool.profiles.profiles[profile].smi_id}:{start}" for profile, starts in placed.items() for start in starts
    )


def _bottlerocket(cluster: Cluster, pool: Pool) -> str:
    """Returns TOML settings for pools with complete or time-sliced GPUs, and then the settings of the spec.

    Source: bottlerocket-os/bottlerocket-settings-sdk, kubelet-device-plugins and kubernetes models
    """
    if not pool.is_gpu:
        return pool.own_user_data
    replicas = pool.sharing.replicas if pool.sharing and pool.sharing.kind == "timeSlicing" else 0
    return render(
        FOLDER, "bottlerocket.j2", pool=pool, eks=eks(pool), replicas=replicas, topology_policy=TOPOLOGY_POLICY
    )


def _ubuntu(cluster: Cluster, pool: Pool) -> str:
    """Returns a shell script that joins the node to the cluster with the taint karpenter.sh/unregistered.

    Karpenter removes the taint when it registers the node, and then sets the labels and taints of the pool. With a
    script of the spec, the result is a MIME archive. The script of the spec is first, because the other script starts
    the kubelet.

    Source: aws/karpenter-provider-aws v1.14.1, concepts/nodeclasses, amiFamily Custom
    """
    arguments = ["--register-with-taints=karpenter.sh/unregistered:NoExecute"]
    if eks(pool).pins_cpus:
        arguments += [
            "--cpu-manager-policy=static",
            f"--topology-manager-policy={TOPOLOGY_POLICY}",
            f"--system-reserved=cpu={quantity_text(CPU, SYSTEM_CPU_MILLI)}",
        ]
    return render(
        FOLDER,
        "ubuntu.j2",
        pool=pool,
        eks=eks(pool),
        result=NO_JOIN,
        stops_kubelet=False,
        boundary=BOUNDARY,
        eks_cluster=aws(cluster).eks_cluster,
        kubelet_arguments=" ".join(arguments),
    )


_RENDERERS: dict[str, Callable[[Cluster, Pool], str]] = {
    "al2": lambda _, pool: pool.own_user_data,
    "al2023": _al2023,
    "bottlerocket": _bottlerocket,
    "ubuntu": _ubuntu,
}
