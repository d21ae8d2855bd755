"""Tenants: namespaces, and in each of them quota, defaults, roles, network, NCCL environment and queues."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.nccl import nccl_environment
from gpuc.emit.network import network_policies
from gpuc.emit.roles import member_role
from gpuc.emit.sync import kept, wave
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, quantity_text, texts
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.manifest.manifest import Artifact, Body, Manifest
from gpuc.model import Cluster, Namespace, Tenant
from gpuc.model.names import COST_LABEL, ENVIRONMENT_LABEL, TENANT_KEY
from gpuc.model.tenant import DEFAULT_REQUEST

JOBS_MAX = 1000
"""Jobs that may stand in a namespace, finished ones included: a runaway loop must not fill etcd."""

VOLUME_CLAIMS_MAX = 100
"""PersistentVolumeClaims that may stand in a namespace."""


def tenants(cluster: Cluster) -> Iterator[Artifact]:
    """One file per tenant, its Namespaces first."""
    for tenant in cluster.tenants:
        for namespace in tenant.namespaces:
            yield _namespace(cluster, tenant, namespace)
        for namespace in tenant.namespaces:
            yield from _inside(cluster, tenant, namespace)


def _file(cluster: Cluster, tenant: Tenant) -> str:
    """The file that holds everything of a tenant."""
    return cluster.out(f"tenants/{tenant.name}.yaml")


def _namespace(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> Manifest:
    level, version = namespace.spec.pod_security, f"v{cluster.spec.kubernetes}"
    labels = {
        TENANT_KEY: tenant.name,
        ENVIRONMENT_LABEL: cluster.spec.environment,
        COST_LABEL: tenant.spec.cost_centre,
    }
    for mode in ("enforce", "audit", "warn"):
        labels[f"pod-security.kubernetes.io/{mode}"] = level
        # Pinned: the levels of "latest" would change under running work with an upgrade.
        labels[f"pod-security.kubernetes.io/{mode}-version"] = version
    file = _file(cluster, tenant)
    notes = kept(cluster, -1)
    return Manifest(file, namespace.path, "v1", "Namespace", namespace.name, {}, labels=labels, annotations=notes)


def _inside(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> Iterator[Manifest]:
    """What fences a tenant in stays until people delete its namespace; what lets it do something goes at once."""
    file = _file(cluster, tenant)
    yield _quota(cluster, tenant, namespace)
    yield _default_requests(cluster, tenant, namespace)
    yield from member_role(cluster, tenant, namespace, file)
    if tenant.isolates_network:
        yield from network_policies(cluster, tenant, namespace, file)
    if namespace.nccl is not None:
        yield nccl_environment(tenant, namespace, namespace.nccl, file)
    yield from _local_queues(cluster, tenant, namespace)


def _quota(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> Manifest:
    """The most that the tenant's queues can ever be given, in each of its namespaces.

    Kueue divides it between them; a tighter quota would refuse pods of work that Kueue has admitted. Hence no
    limits.memory either: Kueue counts requests only. Extended resources that the tenant has no quota of stand at "0".

    Source: Kubernetes documentation, resource quotas; kubernetes-sigs/kueue issue 696
    """
    names = [CPU, MEMORY, EPHEMERAL_STORAGE]
    names += sorted({name for pool in cluster.pools for name in pool.advertised_names})
    hard = {f"requests.{name}": quantity_text(name, tenant.ceiling.get(name, 0)) for name in names}
    hard |= {
        "count/jobs.batch": quantity_text("count/jobs.batch", JOBS_MAX),
        "persistentvolumeclaims": quantity_text("persistentvolumeclaims", VOLUME_CLAIMS_MAX),
    }
    file, body = _file(cluster, tenant), {"spec": {"hard": hard}}
    notes = kept(cluster, 0)
    return Manifest(file, tenant.path, "v1", "ResourceQuota", "gpuc", body, namespace.name, annotations=notes)


def _default_requests(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> Manifest:
    """Requests of containers that name none; no default limits, and nothing of GPUs.

    A default limit would also be set where only a request is given, and the pod refused when that is larger.
    """
    limits = [{"type": "Container", "defaultRequest": texts(DEFAULT_REQUEST)}]
    body: Body = {"spec": {"limits": limits}}
    file, notes = _file(cluster, tenant), wave(0)
    return Manifest(file, namespace.path, "v1", "LimitRange", "gpuc", body, namespace.name, annotations=notes)


def _local_queues(cluster: Cluster, tenant: Tenant, namespace: Namespace) -> Iterator[Manifest]:
    """Held where the queue, the tenant or the namespace leaves: running work goes on, and nothing more is admitted.

    A ClusterQueue is not held, because a hold of it belongs to people in an incident and Argo CD leaves it alone.

    Source: kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/localqueue_types.go
    """
    file = _file(cluster, tenant)
    for queue in tenant.queues:
        leaves = queue.spec.leaving or tenant.spec.leaving or namespace.spec.leaving
        for part in queue.cluster_queues:
            body: Body = {"spec": {"clusterQueue": part.name, "stopPolicy": "Hold" if leaves else "None"}}
            notes = wave(2)
            yield Manifest(
                file, queue.path, KUEUE_API, "LocalQueue", part.name, body, namespace.name, annotations=notes
            )
