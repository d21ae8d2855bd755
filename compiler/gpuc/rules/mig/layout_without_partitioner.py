from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("MIG008", source="bottlerocket-os/bottlerocket#4483; awslabs/amazon-eks-ami v20260724")
def layout_without_partitioner(cluster: Cluster) -> Findings:
    """A node pool has a MIG layout, but gpuc cannot partition GPUs with the AMI of the node pool.

    Nodes advertise whole GPUs, and pods that request slices stay pending. Bottlerocket partitions GPUs according to
    settings that gpuc does not write. AL2 AMIs contain no program that partitions GPUs.
    """
    for pool in cluster.gpu_pools:
        if pool.sharing and pool.sharing.mode == "mig" and not (pool.mig_by_operator or pool.mig_by_user_data):
            key = "every" if pool.spec.sharing and pool.spec.sharing.mig and pool.spec.sharing.mig.every else "gpus"
            actual = f"node pool {pool.name} has a MIG layout and {pool.image.id} AMIs"
            message = f"{actual}, with which gpuc cannot partition GPUs; expected AL2023 or Ubuntu AMIs"
            yield (*pool.path, "sharing", "mig", key), message
