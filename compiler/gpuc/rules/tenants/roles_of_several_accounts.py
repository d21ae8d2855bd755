from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN112", source="Amazon EKS API Reference, UpdatePodIdentityAssociation, targetRoleArn")
def roles_of_several_accounts(cluster: Cluster) -> Findings:
    """The IAM roles of ServiceAccounts are in different AWS accounts.

    EKS refuses the association of a role of another account than the account of the cluster. Pods assume a role of
    another account with a role of the account of the cluster.
    """
    first = ""
    for _, namespace in cluster.namespaces:
        for name, account in namespace.spec.service_accounts.items():
            owner = account.role.split(":")[4]
            first = first or owner
            if owner != first:
                message = f"role of ServiceAccount {name} is in account {owner}, but other roles are in {first}"
                path = (*namespace.path, "serviceAccounts", name, "role")
                yield path, f"{message}; expected the account of the cluster for all roles"
