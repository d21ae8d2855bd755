"""Rules about node pools with EFA."""

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.rules import Findings, Found, efa_rule, rule, tenant_rule
from gpuc.substrates.eks.rules.zones import ZONES
from gpuc.substrates.eks.scaling import add_on_registry, aws, eks


@efa_rule("EFA002")
def efa_over_several_types(pool: Pool) -> Findings:
    """A node pool with EFA has several instance types."""
    types = list(dict.fromkeys(pool.spec.instances))
    if len(types) > 1:
        path = (*pool.path, "instances", pool.spec.instances.index(types[1]))
        message = f"node pool {pool.name} has fabric efa and types {', '.join(types)}; expected one instance type"
        yield Found(path, message, related=[Related("fabric of the node pool is efa", (*pool.path, "fabric"))])


@efa_rule("EFA005")
def efa_across_zones(pool: Pool) -> Findings:
    """A node pool with EFA is in several zones."""
    if len(set(pool.zones)) > 1:
        path: Path = (*pool.path, "fabric")
        related = [Related("node pools without zones are in all zones of the cluster", ZONES, on_key=True)]
        if eks(pool).spec.zones:
            path, related = (*eks(pool).path, "zones", 1), [Related("fabric of the node pool is efa", path)]
        message = f"node pool {pool.name} has fabric efa in zones {', '.join(pool.zones)}; expected one zone"
        yield Found(path, message, f"name one zone under zones of node pool {pool.name}", related)


@efa_rule("EFA101")
def efa_on_shared_gpus(pool: Pool) -> Findings:
    """A node pool has EFA, but its GPUs are partitioned or shared."""
    if pool.sharing and pool.sharing.mode != "exclusive":
        message = f"node pool {pool.name} has fabric efa and sharing {pool.sharing.kind}; EFA needs sharing exclusive"
        sharing = (*pool.path, "sharing", pool.sharing.kind)
        related = [Related(f"sharing is {pool.sharing.kind}", sharing, on_key=True)]
        yield Found((*pool.path, "fabric"), message, related=related)


@efa_rule("EFA102", Severity.WARNING)
def efa_without_driver(pool: Pool) -> Findings:
    """A node pool has EFA, but its AMI family does not include the EFA driver."""
    if not pool.image.efa_driver:
        message = f"node pool {pool.name} has fabric efa, but {pool.image.id} AMIs do not include the EFA driver"
        related = [Related("the AMI", pool.image_path, on_key=True)]
        yield Found((*pool.path, "fabric"), message, related=related)


@efa_rule("EFA004")
def efa_without_interfaces(pool: Pool) -> Findings:
    """A node pool has fabric efa, but one of its instance types does not support EFA."""
    for index, instance in enumerate(pool.instances):
        if not instance.efa:
            message = f"node pool {pool.name} has fabric efa, but {instance.type} does not support EFA"
            yield Found((*pool.path, "instances", index), message)


@rule("EFA006")
def efa_without_self_rule(cluster: Cluster) -> Findings:
    """The security group of nodes with EFA does not allow all traffic between members of the group."""
    if cluster.efa_pools and not aws(cluster).security_groups.efa_self_rule:
        names = ", ".join(pool.name for pool in cluster.efa_pools)
        path = ("spec", "cloud", "aws", "securityGroups", "efaSelfRule")
        related = [Related(f"node pool {pool.name} has EFA", (*pool.path, "fabric")) for pool in cluster.efa_pools]
        actual = "cloud.aws.securityGroups.efaSelfRule is not true: the security group may refuse EFA traffic"
        message = f"{actual}; these node pools have fabric efa: {names}"
        fix = "allow all traffic between members of the security group, then set"
        fix += " cloud.aws.securityGroups.efaSelfRule to true"
        yield Found(path, message, fix, related)


@tenant_rule("EFA007")
def efa_without_privileged_namespace(tenant: Tenant) -> Findings:
    """A tenant uses a node pool with EFA, but its namespaces with quota for the pool do not admit EFA pods."""
    reported: set[Path] = set()
    for namespaces, pool in _uses(tenant):
        if pool.needs_ipc_lock and all(namespace.spec.pod_security != "privileged" for namespace in namespaces):
            path = (*namespaces[0].path, "podSecurity")
            if path not in reported:
                reported.add(path)
                names = ", ".join(namespace.name for namespace in namespaces)
                actual = f"tenant {tenant.name} uses node pool {pool.name} with EFA in namespaces {names}"
                yield Found(path, f"{actual}, but none of these namespaces has podSecurity privileged")


def _uses(tenant: Tenant) -> list[tuple[list[Namespace], Pool]]:
    """Returns the namespaces that can use a pool, and the pool, for every quota of the tenant."""
    queued = [
        ([namespace for namespace in tenant.namespaces if queue in namespace.queues], pool)
        for queue in tenant.queues
        for pool in queue.pools
    ]
    own = [([namespace], quota.pool) for namespace in tenant.namespaces for quota in namespace.quotas]
    return [use for use in (*queued, *own) if use[0]]


@rule("EFA109")
def unknown_image_registry(cluster: Cluster) -> Findings:
    """The region has no known image registry for the EFA device plugin."""
    if cluster.efa_pools and not add_on_registry(cluster):
        message = f"region {aws(cluster).region} has no registry for EKS add-ons in the catalog of gpuc"
        fix = "set cloud.aws.addOnRegistry to the registry of the region in the EKS User Guide, or correct the region"
        yield Found(("spec", "cloud", "aws", "region"), message, fix)
