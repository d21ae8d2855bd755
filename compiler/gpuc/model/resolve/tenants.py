"""Converts the tenants of a spec into tenants of the model: namespaces, queues and maximum usage."""

from functools import partial

from gpuc.diagnostics.finding import Finding, Path
from gpuc.diagnostics.unknown import elements, known, none_if_unknown
from gpuc.kubernetes.amounts import Amounts, total
from gpuc.model.cluster import SPEC
from gpuc.model.pool import Pool
from gpuc.model.queue import Cohort, Queue, ceiling, quota_nodes
from gpuc.model.resolve.names import unknown, unknown_names
from gpuc.model.resolve.queues import QUOTA_UNIT, resources
from gpuc.model.tenant import Members, Namespace, NamespaceQuota, Profile, Run, Tenant
from gpuc.spec.cluster import Spec
from gpuc.spec.network import Allowed
from gpuc.spec.tenants import Members as MembersSpec
from gpuc.spec.tenants import Namespace as NamespaceSpec
from gpuc.spec.tenants import Tenant as TenantSpec


def resolve_profiles(spec: Spec) -> dict[str, Profile]:
    """Returns the NCCL profiles of the spec by name."""
    return {
        name: Profile(name, (*SPEC, "nccl", "profiles", name), profile_spec)
        for name, profile_spec in spec.nccl.profiles.items()
    }


def resolve_tenants(
    spec: Spec, pools: dict[str, Pool], profiles: dict[str, Profile], queues: tuple[Queue, ...],
    cohorts: tuple[Cohort, ...], findings: list[Finding],
) -> tuple[Tenant, ...]:  # fmt: skip
    """Returns the tenants of the spec in their order. For a tenant with a mistake, adds a finding to `findings`."""
    for name, priority in spec.priorities.items():
        findings += unknown_names(
            "tenant", priority.tenants or (), spec.tenants, (*SPEC, "priorities", name, "tenants")
        )
    nodes = known(lambda: quota_nodes(queues, cohorts))
    ceilings = known(lambda: {queue.name: ceiling(nodes, queue) for queue in queues})
    return elements(
        _tenant(name, tenant_spec, spec, pools, profiles, queues, ceilings, findings)
        for name, tenant_spec in spec.tenants.items()
    )


@none_if_unknown
def _tenant(
    name: str, tenant_spec: TenantSpec, spec: Spec, pools: dict[str, Pool], profiles: dict[str, Profile],
    queues: tuple[Queue, ...], ceilings: dict[str, Amounts], findings: list[Finding],
) -> Tenant | None:  # fmt: skip
    path: Path = (*SPEC, "tenants", name)
    quotas = {}
    for namespace, settings in tenant_spec.namespaces.items():
        where = (*path, "namespaces", namespace)
        if settings.nccl is not None and settings.nccl not in profiles:
            findings.append(unknown("NCCL profile", settings.nccl, profiles, (*where, "nccl")))
        if settings.queues is not None:
            own = [queue for queue, queue_spec in spec.queues.items() if name in queue_spec.tenants]
            findings += unknown_names("queue of the tenant", settings.queues, own, (*where, "queues"))
        quotas[namespace] = _namespace_quotas(settings, spec, pools, where, findings)
    _check_exceptions(tenant_spec, path, findings)
    members = _members(tenant_spec, path, findings)
    tenant_queues = known(lambda: tuple(queue for queue in queues if name in queue.tenant_names))
    namespaces = []
    for namespace, settings in tenant_spec.namespaces.items():
        where = (*path, "namespaces", namespace)
        profile = profiles.get(settings.nccl or "")
        used = known(partial(_queues, settings, tenant_queues))
        most = known(partial(_most, used, ceilings))
        namespaces.append(Namespace(namespace, where, settings, profile, used, quotas[namespace], most))
    runs = _runs(tenant_spec, spec, pools, tuple(namespaces), path, findings)
    return Tenant(name, path, tenant_spec, tuple(namespaces), tenant_queues, members, runs)


def _queues(settings: NamespaceSpec, tenant_queues: tuple[Queue, ...]) -> tuple[Queue, ...]:
    return tuple(queue for queue in tenant_queues if settings.queues is None or queue.name in settings.queues)


def _most(queues: tuple[Queue, ...], ceilings: dict[str, Amounts]) -> Amounts:
    return total(ceilings[queue.name] for queue in queues)


def _runs(
    tenant: TenantSpec, spec: Spec, pools: dict[str, Pool], namespaces: tuple[Namespace, ...], path: Path,
    findings: list[Finding],
) -> tuple[Run, ...]:  # fmt: skip
    """Returns the training runtimes, and adds a finding for each namespace of others and each unknown node pool."""
    own = {namespace.name: namespace for namespace in namespaces}
    runs: list[Run | None] = []
    for name, run in tenant.trains.items():
        where: Path = (*path, "trains", name)
        if run.namespace not in own:
            findings.append(unknown("namespace of the tenant", run.namespace, own, (*where, "namespace")))
        if run.pool not in spec.pools:
            findings.append(unknown("node pool", run.pool, spec.pools, (*where, "pool")))
        if run.priority is not None and run.priority not in spec.priorities:
            findings.append(unknown("priority", run.priority, spec.priorities, (*where, "priority")))
        known_names = run.namespace in own and run.pool in pools  # a pool with a mistake has a finding of its own
        runs.append(Run(name, where, run, own[run.namespace], pools[run.pool]) if known_names else None)
    return elements(runs)


def _members(tenant: TenantSpec, path: Path, findings: list[Finding]) -> tuple[Members, ...]:
    """Returns the members of a tenant, and adds a finding for each unknown namespace."""
    where: Path = (*path, "members")
    entries = [(where, tenant.members)] if isinstance(tenant.members, MembersSpec) else []
    if isinstance(tenant.members, list):
        entries = [((*where, index), entry) for index, entry in enumerate(tenant.members)]
    resolved = []
    for place, entry in entries:
        names = entry.namespaces or ()
        findings += unknown_names("namespace of the tenant", names, tenant.namespaces, (*place, "namespaces"))
        resolved.append(Members(place, entry, tuple(entry.namespaces or tenant.namespaces)))
    return tuple(resolved)


def _check_exceptions(tenant: TenantSpec, path: Path, findings: list[Finding]) -> None:
    """Adds a finding for each network exception of a tenant that names an unknown namespace."""
    network, where = tenant.network, (*path, "network")
    entries: list[tuple[Path, Allowed]] = [((*where, "egress", i), entry) for i, entry in enumerate(network.egress)]
    entries += [((*where, "ingress", i), entry) for i, entry in enumerate(network.ingress)]
    entries += [((*where, "internet"), network.internet)] if network.internet else []
    for position, entry in entries:
        names = entry.only or ()
        findings += unknown_names("namespace of the tenant", names, tenant.namespaces, (*position, "only"))


def _namespace_quotas(
    settings: NamespaceSpec, spec: Spec, pools: dict[str, Pool], path: Path, findings: list[Finding]
) -> tuple[NamespaceQuota, ...]:
    quotas = []
    for name, amount in settings.quota.items():
        where = (*path, "quota", name)
        if name not in spec.pools:
            findings.append(unknown("node pool", name, spec.pools, where, on_key=True))
        elif name in pools:  # otherwise the pool has a finding
            try:
                quotas.append(NamespaceQuota(pools[name], where, amount, resources(pools[name], amount)))
            except ValueError as error:
                findings.append(QUOTA_UNIT.at(where, f"{error}", on_key=True))
    return elements([*quotas, None]) if len(quotas) < len(settings.quota) else tuple(quotas)
