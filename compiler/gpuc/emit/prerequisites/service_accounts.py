"""The IAM roles of tenants' ServiceAccounts."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from gpuc.emit.prerequisites.iam import TRUSTED_BY, pod_identity_agent
from gpuc.emit.prerequisites.record import Chapter, Prerequisite, aws
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about the IAM roles of ServiceAccounts; None without such a ServiceAccount."""
    accounts = [
        (namespace.name, name, account.role)
        for _, namespace in cluster.namespaces
        for name, account in namespace.spec.service_accounts.items()
    ]
    if not accounts:
        return None
    values = {"service_accounts": accounts, "quote": quote}
    return Chapter("IAM roles of ServiceAccounts", "service_accounts.md.j2", tuple(_prerequisites(cluster)), values)


def _prerequisites(cluster: Cluster) -> Iterator[Prerequisite]:
    command = aws(
        cluster, "eks list-pod-identity-associations", f"--cluster-name {cluster.aws.eks_cluster} --output table"
    )
    yield pod_identity_agent(cluster)
    for _, namespace in cluster.namespaces:
        for name, account in namespace.spec.service_accounts.items():
            path = (*namespace.path, "serviceAccounts", name)
            yield Prerequisite(
                id=f"pod-identity/{namespace.name}/{name}",
                what=f"an association of the ServiceAccount `{namespace.name}/{name}` with its IAM role",
                reason="without the association, the pods of the ServiceAccount have no credentials",
                checks=(command,),
                expected=f"{namespace.name} and {name} in one row",
                path=path,
            )
            role = account.role.rpartition("/")[2]
            yield Prerequisite(
                id=f"iam-role/{role}",
                what=f"the IAM role `{role}`, which trusts EKS Pod Identity",
                reason="an association needs a role that exists",
                checks=(f"aws iam get-role --role-name {quote(role)} --query Role.AssumeRolePolicyDocument",),
                expected="a policy for pods.eks.amazonaws.com",
                path=path,
                facts={TRUSTED_BY: "pods.eks.amazonaws.com"},
            )
