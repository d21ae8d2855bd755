"""User data of Amazon Linux 2023: a shell script that installs systemd units, and a NodeConfig for the kubelet."""

from __future__ import annotations

from gpuc.emit.nodes.kubelet import TOPOLOGY_OPTION, TOPOLOGY_POLICY
from gpuc.emit.nodes.partition import gpus_by_layout, uniform_gpu_count
from gpuc.emit.nodes.template import render
from gpuc.emit.nodes.ubuntu import NO_JOIN
from gpuc.model import Cluster, GpuPool, Pool
from gpuc.model.names import GPUS_CONDITION, GPUS_TAINT
from gpuc.spec.node_settings import BOUNDARY

_FABRIC_STATES = ("hopper", "blackwell")
"""GPU architectures whose GPUs have a fabric state in nvidia-smi -q: NVSwitches of the third generation and later."""

NO_TAINT_REMOVAL = f"The node keeps the taint {GPUS_TAINT}."
"""What the serial console says about a GPU node whose userData failed."""


def al2023(cluster: Cluster, pool: Pool) -> str:
    """Returns a MIME archive, to which Karpenter adds its own NodeConfig. Empty if the nodes need no part of gpuc.

    cloud-init runs the scripts in the order of the archive, and also the second if the first fails. The script of the
    spec is the second: it cannot keep the script of gpuc from running. Its failure sets the condition of a GPU node,
    and keeps other nodes out of the cluster. Karpenter would read a script outside of an
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
        "al2023.j2",
        has_part=has_part,
        own_script=pool.own_user_data,
        boundary=BOUNDARY,
        result=NO_TAINT_REMOVAL if pool.is_gpu else NO_JOIN,
        stops_kubelet=not pool.is_gpu,
        pool=pool.name,
        has_gpus=pool.is_gpu,
        has_efa=pool.has_efa,
        pins_cpus=pool.pins_cpus,
        topology_policy=TOPOLOGY_POLICY,
        topology_option=TOPOLOGY_OPTION,
        layouts=gpus_by_layout(pool) if pool.mig_by_user_data else (),
        gpu_count=uniform_gpu_count(pool),
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
