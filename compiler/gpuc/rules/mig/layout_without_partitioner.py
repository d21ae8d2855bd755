from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("MIG008", source="bottlerocket-os/bottlerocket#4483; awslabs/amazon-eks-ami v20260724")
def layout_without_partitioner(cluster: Cluster) -> Findings:
    """GPUs shall be partitioned on an image where nothing does it.

    Nodes advertise whole GPUs, and slices are asked for in vain. Bottlerocket partitions by settings of its own, which
    gpuc does not write; AL2 has nothing that would.
    """
    for pool in cluster.gpu_pools:
        if pool.sharing and pool.sharing.mode == "mig" and not (pool.mig_by_operator or pool.mig_by_user_data):
            key = "every" if pool.spec.sharing and pool.spec.sharing.mig and pool.spec.sharing.mig.every else "gpus"
            message = f"MIG on {pool.image.id}, where gpuc cannot have GPUs partitioned; use AL2023 or Ubuntu"
            yield (*pool.path, "sharing", "mig", key), message
