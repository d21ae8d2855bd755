from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA006", source="EC2 user guide, prepare an EFA-enabled security group")
def efa_without_self_rule(cluster: Cluster) -> Findings:
    """The security group of nodes with EFA does not allow all traffic from and to itself.

    EFA needs a rule that allows all traffic between members of the security group, in both directions. A rule for all
    addresses is not enough. Pods start, but the first NCCL collective times out.
    """
    if cluster.efa_pools and not cluster.aws.security_groups.efa_self_rule:
        names = ", ".join(pool.name for pool in cluster.efa_pools)
        path = ("spec", "cloud", "aws", "securityGroups", "efaSelfRule")
        related = [Related(f"node pool {pool.name} has EFA", (*pool.path, "fabric")) for pool in cluster.efa_pools]
        message = f"securityGroups.efaSelfRule is not true, but these node pools have fabric efa: {names}"
        fix = "add the rule to the security group, then set cloud.aws.securityGroups.efaSelfRule to true"
        yield path, message, fix, related
