"""Rules about the namespaces of tenants: their names, host names, quotas and isolation."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, Found, rule, tenant_rule


@rule("TEN109")
def host_of_two_tenants(cluster: Cluster) -> Findings:
    """Several tenants may use the same host name in their Ingresses."""
    hosts = [
        (tenant, namespace, host, (*namespace.path, "exposed", "hosts", index))
        for tenant, namespace in cluster.namespaces
        for index, host in enumerate(namespace.spec.exposed.hosts)
    ]
    for tenant, namespace, host, path in hosts:
        others = {name: (other, place) for other, _, name, place in hosts if other is not tenant}
        for shared, (other, place) in others.items():
            if host == shared or _covers(host, shared) or _covers(shared, host):
                actual = f"tenant {tenant.name} may use the host {host} in namespace {namespace.name}"
                message = f"{actual}, and tenant {other.name} the host {shared}"
                yield Found(path, message, related=[Related(f"the host of tenant {other.name}", place)])


def _covers(wildcard: str, host: str) -> bool:
    return wildcard.startswith("*.") and host.removeprefix("*").endswith(wildcard[1:])


@rule("TEN102")
def namespace_of_the_platform(cluster: Cluster) -> Findings:
    """A tenant has a namespace that a component of the platform uses."""
    moved = {settings.namespace: name for name, settings in cluster.spec.components.items() if settings.namespace}
    for tenant, namespace in cluster.namespaces:
        owner = f"namespace {namespace.name} of tenant {tenant.name}"
        if component := moved.get(namespace.name):
            related = [Related(f"the namespace in tenant {tenant.name}", namespace.path, on_key=True)]
            message = f"{owner} is the namespace of {component}"
            yield Found(("spec", "components", component, "namespace"), message, related=related)
        elif namespace.name in cluster.platform_namespaces or namespace.name.startswith("kube-"):
            message = f"{owner} is a namespace of the platform; expected a namespace that only the tenant uses"
            yield Found(namespace.path, message, f"rename {owner}", on_key=True)


@rule("TEN101")
def namespace_of_two_tenants(cluster: Cluster) -> Findings:
    """Two tenants have the same namespace."""
    owners: dict[str, Tenant] = {}
    for tenant, namespace in cluster.namespaces:
        owner = owners.setdefault(namespace.name, tenant)
        if owner is not tenant:
            actual = f"namespace {namespace.name} belongs to tenant {owner.name} and to tenant {tenant.name}"
            path = (*owner.path, "namespaces", namespace.name)
            related = [Related(f"the namespace in tenant {owner.name}", path, on_key=True)]
            fix = f"rename namespace {namespace.name} of tenant {tenant.name}"
            yield Found(namespace.path, f"{actual}; expected one tenant", fix, related, on_key=True)


@rule("NSP001", Severity.WARNING)
def only_tenant_without_isolation(cluster: Cluster) -> Findings:
    """One tenant has no NetworkPolicies, but all other tenants have NetworkPolicies."""
    open_tenants = [tenant for tenant in cluster.tenants if not tenant.isolates_network]
    if len(open_tenants) == 1 and len(cluster.tenants) > 2:
        (tenant,) = open_tenants
        actual = f"isolation of tenant {tenant.name} is {tenant.spec.isolation}"
        yield Found((*tenant.path, "isolation"), f"{actual}, but all other tenants have NetworkPolicies")


@tenant_rule("TEN105", Severity.WARNING)
def tenant_without_queue(tenant: Tenant) -> Findings:
    """A tenant has neither a queue nor quota in a namespace."""
    has_quota = tenant.queues or any(namespace.quotas for namespace in tenant.namespaces)
    if not has_quota and not tenant.spec.leaving:
        message = f"tenant {tenant.name} has no queue, and its namespaces have no quota"
        fix = f"add tenant {tenant.name} to tenants of a queue, or add quota to a namespace of tenant {tenant.name}"
        yield Found((*tenant.path, "costCentre"), message, fix)
