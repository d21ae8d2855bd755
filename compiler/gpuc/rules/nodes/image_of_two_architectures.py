from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import has_ami_id


@rule(
    "KRP131",
    source="Amazon EC2 User Guide, AMI characteristics; karpenter-provider-aws v1.14.1 pkg/providers/amifamily",
)
def image_of_two_architectures(cluster: Cluster) -> Findings:
    """Node pools with different CPU architectures have the same AMI id.

    An AMI has one architecture. Karpenter finds no instance type that can start the AMI, and the pods of the pool stay
    pending. With an alias such as al2023@v20260815, Karpenter finds the AMI of each architecture.
    """
    first: dict[str, Pool] = {}
    for pool in sorted(cluster.pools, key=lambda pool: not pool.is_gpu):
        if not has_ami_id(pool):
            continue
        other = first.setdefault(pool.ami, pool)
        arch, other_arch = pool.instances[0].arch, other.instances[0].arch
        if arch != other_arch:
            path = (*pool.path, "image") if pool.spec.image else (*pool.path, "instances", 0)
            message = f"node pool {pool.name} is {arch}, but node pool {other.name} with the same AMI {pool.ami} is "
            related = [Related(f"node pool {other.name} is {other_arch}", (*other.path, "instances", 0))]
            yield (
                path,
                f"{message}{other_arch}; expected an AMI for {arch} in image of node pool {pool.name}",
                "",
                related,
            )
