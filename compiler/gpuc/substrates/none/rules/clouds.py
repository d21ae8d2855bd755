"""What a cloud has and existing nodes do not have."""

from __future__ import annotations

from gpuc.model import Pool, Tenant
from gpuc.rules import Findings, Found, pool_rule, tenant_rule


@pool_rule("NOD007")
def fabric_of_a_cloud(pool: Pool) -> Findings:
    """A pool of existing nodes has EFA.

    EFA is a network of EC2. Existing servers have no EFA devices, so that pods which request them wait without end.
    """
    if pool.has_efa:
        message = f"node pool {pool.name} has fabric efa, which only EC2 instances have; expected no fabric"
        yield Found((*pool.path, "fabric"), message, f"remove fabric from node pool {pool.name}")


@pool_rule("NOD008")
def level_of_a_cloud(pool: Pool) -> Findings:
    """The topology of a pool of existing nodes has a level that a cloud gives to nodes.

    The nodes have no label for the level. Kueue ignores nodes without the labels of all levels.
    """
    for index, level in enumerate(pool.spec.topology or ()):
        if level != "host":
            message = f"topology of node pool {pool.name} has {level}, a level that existing nodes have no label for"
            yield Found((*pool.path, "topology", index), f"{message}; expected host", "write topology: [host]")


@tenant_rule("NOD009")
def role_without_a_cloud(tenant: Tenant) -> Findings:
    """A ServiceAccount has an IAM role, but the cluster is not on EKS.

    The pods get no credentials of the role.
    """
    for namespace in tenant.namespaces:
        for name in namespace.spec.service_accounts:
            message = f"ServiceAccount {name} has an IAM role, which only pods on EKS can have"
            path = (*namespace.path, "serviceAccounts", name, "role")
            yield Found(path, f"{message}; expected no role", f"remove {name} from serviceAccounts", on_key=True)
