"""EFA: the version of the CNI plugin, and the rules of the security group."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.prerequisites.aws_resources import selector
from gpuc.emit.prerequisites.network import selected
from gpuc.emit.prerequisites.record import AWS, Chapter, Prerequisite, aws, kubectl
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about EFA; None without a pool with EFA."""
    if not cluster.efa_pools:
        return None
    return Chapter("EFA", "efa.md.j2", tuple(_prerequisites(cluster)))


def _prerequisites(cluster: Cluster) -> Iterator[Prerequisite]:
    if cluster.aws.network_policy_engine == "cilium":
        command = f"{kubectl(cluster)} -n kube-system get configmap cilium-config -o "
        checks: tuple[str, ...] = (command + "jsonpath='{.data.aws-enable-prefix-delegation}'",)
        expected = "true"
    else:
        arguments = f"--cluster-name {cluster.aws.eks_cluster} --addon-name vpc-cni --query addon.addonVersion"
        checks, expected = (aws(cluster, "eks describe-addon", arguments),), "v1.18.5 or later"
    yield Prerequisite(
        id="network-plugin/efa-only-interfaces",
        what="a CNI plugin that can work beside network interfaces without an IP address",
        reason="otherwise pods on the nodes get no address",
        checks=checks,
        expected=expected,
        path=("spec", "pools"),
    )
    groups = cluster.aws.security_groups
    pairs = "[?IpProtocol=='-1'].UserIdGroupPairs[].GroupId"
    query = f'--query "SecurityGroups[].[GroupId,IpPermissions{pairs},IpPermissionsEgress{pairs}]"'
    yield Prerequisite(
        id=f"efa-traffic/{selected(groups)}",
        what="rules of the security group that allow all traffic from and to the group itself",
        reason="without the rules, AWS blocks EFA traffic, and NCCL hangs",
        checks=(aws(cluster, "ec2 describe-security-groups", f"{selector(groups, '--group-ids')} {query}"),),
        expected="the id of the group also in both lists",
        path=(*AWS, "securityGroups"),
    )
