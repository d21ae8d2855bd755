from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.mig._layout import layout_path
from gpuc.rules.nodes._images import image_path


@rule("MIG008", source="bottlerocket-os/bottlerocket#4483; awslabs/amazon-eks-ami v20260724")
def layout_without_partitioner(cluster: Cluster) -> Findings:
    """A node pool has a MIG layout, but gpuc cannot partition GPUs with the AMI of the node pool.

    Nodes advertise whole GPUs, and pods that request slices stay pending. Bottlerocket partitions GPUs according to
    settings that gpuc does not write. AL2 AMIs contain no program that partitions GPUs.
    """
    for pool in cluster.gpu_pools:
        if pool.sharing and pool.sharing.mode == "mig" and not (pool.mig_by_operator or pool.mig_by_user_data):
            actual = f"node pool {pool.name} has a MIG layout and {pool.image.id} AMIs"
            message = f"{actual}, with which gpuc cannot partition GPUs; expected AL2023 or Ubuntu AMIs"
            related = [Related("the AMI", image_path(pool), on_key=True)]
            yield layout_path(pool), message, "", related
