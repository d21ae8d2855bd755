"""User data of Amazon Linux 2023: a shell script that installs systemd units, and a NodeConfig for the kubelet."""

from __future__ import annotations

from gpuc.emit.nodes.kubelet import TOPOLOGY_OPTION, TOPOLOGY_POLICY
from gpuc.emit.nodes.partition import gpus_by_layout, uniform_gpu_count
from gpuc.emit.nodes.template import render
from gpuc.model import Cluster, Pool


def al2023(cluster: Cluster, pool: Pool) -> str:
    """Returns a MIME archive, to which Karpenter adds its own NodeConfig. Empty for pools without GPUs and EFA.

    Source: awslabs/amazon-eks-ami v20260724: nodeadm-run.service starts the kubelet after cloud-init is done, and
    nvidia-setup.service loads the driver and writes the toolkit's files at every boot
    """
    if not pool.is_gpu and not pool.has_efa:
        return ""
    return render(
        "al2023.j2",
        pool=pool.name,
        has_gpus=pool.is_gpu,
        has_efa=pool.has_efa,
        pins_cpus=pool.pins_cpus,
        topology_policy=TOPOLOGY_POLICY,
        topology_option=TOPOLOGY_OPTION,
        layouts=gpus_by_layout(pool) if pool.mig_by_user_data else (),
        gpu_count=uniform_gpu_count(pool),
    )
