"""The instance types that EC2 must offer in the region."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, aws
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter:
    """Returns the chapter about instance types.

    The price table of the catalog has only us-east-1, so that a type without a row there is unknown, not refused.
    """
    paths = {instance.type: pool.path for pool in reversed(cluster.pools) for instance in pool.instances}
    filters = f"--location-type availability-zone --filters Name=instance-type,Values={','.join(sorted(paths))}"
    query = "--query 'InstanceTypeOfferings[].[InstanceType,Location]' --output text"
    command = aws(cluster, "ec2 describe-instance-type-offerings", f"{filters} {query}")
    prerequisites = tuple(
        Prerequisite(
            id=f"instance-type/{name}",
            what=f"the instance type {name} in {cluster.aws.region}",
            reason="a node pool whose types EC2 does not offer in its zones starts no node",
            checks=(command,),
            expected=f"{name} with a zone of the pool",
            path=(*path, "instances"),
        )
        for name, path in sorted(paths.items())
    )
    return Chapter("Instance types", "instance_types.md.j2", prerequisites, {"pools": cluster.pools})
