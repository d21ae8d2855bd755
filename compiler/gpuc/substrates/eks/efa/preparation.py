"""What EFA needs from the CNI plugin and from the security groups of the nodes."""

from __future__ import annotations

from pathlib import Path

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster
from gpuc.substrates.eks.chapters import AWS
from gpuc.substrates.eks.chapters.connections import names, selector
from gpuc.substrates.eks.scaling import aws


def preparation(cluster: Cluster) -> Chapter:
    """Returns the chapter about EFA: the version of the CNI plugin, and the rules of the security group."""
    groups = aws(cluster).security_groups
    engine = "cilium" if cluster.network.policy_engine == "cilium" else "vpc-cni"
    known = {"name": ",".join(names(groups)), "groups": selector(groups, "--group-ids")}
    rows: list[Row] = [
        (f"efa-only-interfaces-{engine}", ("spec", "pools"), {}),
        ("efa-traffic", (*AWS, "securityGroups"), known),
    ]
    return written(cluster, Path(__file__).with_suffix(""), "EFA", rows)
