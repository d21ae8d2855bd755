"""Rules about settings that only a cloud supports, in clusters of existing nodes."""

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, Found, rule, tenant_rule


@rule("NOD007")
def fabric_of_a_cloud(cluster: Cluster) -> Findings:
    """A node pool or an NCCL profile of a cluster of existing nodes has EFA."""
    sections = [(f"node pool {pool.name}", pool.path, pool.spec.fabric) for pool in cluster.pools]
    sections += [
        (f"NCCL profile {name}", ("spec", "nccl", "profiles", name), profile.fabric)
        for name, profile in cluster.spec.nccl.profiles.items()
    ]
    for words, path, fabric in sections:
        if fabric == "efa":
            other = "gpuc does not support RoCE and InfiniBand yet"
            message = f"{words} has fabric efa, which existing servers do not have; expected no key fabric: {other}"
            fix = f"remove {'fabric from ' if path[1] == 'pools' else ''}{words}"
            yield Found((*path, "fabric"), message, fix)


@tenant_rule("NOD009")
def role_without_a_cloud(tenant: Tenant) -> Findings:
    """A ServiceAccount of a cluster of existing nodes has an IAM role."""
    for namespace in tenant.namespaces:
        for name in namespace.spec.service_accounts:
            message = f"ServiceAccount {name} has an IAM role, but the nodes belong to no cloud"
            path = (*namespace.path, "serviceAccounts", name, "role")
            yield Found(path, f"{message}; expected no role", f"remove {name} from serviceAccounts", on_key=True)


@rule("NOD101", Severity.WARNING)
def setting_without_effect(cluster: Cluster) -> Findings:
    """The spec has a setting that has no effect on existing nodes."""
    if cluster.spec.working_hours is not None:
        message = "workingHours have no effect: nothing replaces existing nodes"
        yield Found(("spec", "workingHours"), message, "remove workingHours", on_key=True)
    for tenant in cluster.tenants:
        if tenant.spec.tags:
            message = f"tags of tenant {tenant.name} have no effect: existing nodes have no tags"
            yield Found((*tenant.path, "tags"), message, f"remove tags of tenant {tenant.name}", on_key=True)
