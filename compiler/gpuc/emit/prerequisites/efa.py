"""EFA: the version of the CNI plugin, and the rules of the security group."""

from __future__ import annotations

from gpuc.emit.prerequisites.aws_resources import selected, selector
from gpuc.emit.prerequisites.record import AWS, Chapter, Row, written
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about EFA; None without a pool with EFA."""
    if not cluster.efa_pools:
        return None
    groups = cluster.aws.security_groups
    engine = "cilium" if cluster.aws.network_policy_engine == "cilium" else "vpc-cni"
    rows: list[Row] = [
        (f"efa-only-interfaces-{engine}", ("spec", "pools"), {}),
        (
            "efa-traffic",
            (*AWS, "securityGroups"),
            {"name": selected(groups), "groups": selector(groups, "--group-ids")},
        ),
    ]
    return written(cluster, "efa", "EFA", rows)
