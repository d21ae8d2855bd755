"""Resolves tenants: namespaces, queues and maximum usage."""

from __future__ import annotations

from gpuc.diagnostics.finding import Finding, Path
from gpuc.kubernetes.amounts import total
from gpuc.model.cluster import SPEC
from gpuc.model.queue import Cohort, Queue
from gpuc.model.quota import ceiling, quota_nodes
from gpuc.model.resolve.names import unknown
from gpuc.model.tenant import Namespace, Profile, Tenant
from gpuc.spec.cluster import Spec


def resolve_profiles(spec: Spec) -> dict[str, Profile]:
    """Returns the NCCL profiles by name."""
    return {
        name: Profile(name, (*SPEC, "nccl", "profiles", name), profile_spec)
        for name, profile_spec in spec.nccl.profiles.items()
    }


def resolve_tenants(
    spec: Spec, profiles: dict[str, Profile], queues: tuple[Queue, ...], cohorts: tuple[Cohort, ...],
    findings: list[Finding],
) -> tuple[Tenant, ...]:  # fmt: skip
    """Resolves the tenants and returns the tenants in the order of the spec."""
    nodes = quota_nodes(queues, cohorts)
    tenants = []
    for name, tenant_spec in spec.tenants.items():
        path: Path = (*SPEC, "tenants", name)
        namespaces = []
        for namespace, settings in tenant_spec.namespaces.items():
            where = (*path, "namespaces", namespace)
            if settings.nccl is not None and settings.nccl not in profiles:
                findings.append(unknown("NCCL profile", settings.nccl, profiles, (*where, "nccl")))
            namespaces.append(Namespace(namespace, where, settings, profiles.get(settings.nccl or "")))
        tenant_queues = tuple(queue for queue in queues if name in queue.tenant_names)
        most = total(ceiling(nodes, queue) for queue in tenant_queues)
        tenants.append(Tenant(name, path, tenant_spec, tuple(namespaces), tenant_queues, most))
    return tuple(tenants)
