from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule

PREFIX = "system:"


@rule("RBA014", source="Kubernetes documentation, Using RBAC Authorization, referring to subjects: the prefix system:")
def group_of_kubernetes(cluster: Cluster) -> Findings:
    """A group of members or auditors has the prefix of Kubernetes' own groups.

    The group system:authenticated contains every user and every ServiceAccount of the cluster, and system:masters has
    all permissions. Identity providers of EKS cannot use the prefix.
    """
    lists = [
        ((*members.path, "groups"), members.spec.groups) for tenant in cluster.tenants for members in tenant.members
    ]
    for path, groups in (*lists, (("spec", "auditors", "groups"), cluster.auditors)):
        for index, group in enumerate(groups):
            if group.startswith(PREFIX):
                message = f"group {group} is a group of Kubernetes; expected a group of the identity provider"
                yield (*path, index), message
