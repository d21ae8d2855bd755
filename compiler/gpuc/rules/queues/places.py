"""Finds where quotas and limits are written in a spec or in objects. Quotas are in nodes, GPUs, slices or shares."""

from collections.abc import Iterator

from msgspec import Struct

from gpuc.cluster.queue import Member
from gpuc.diagnostics.finding import Path, Related
from gpuc.kubernetes.amounts import CPU, Amounts
from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.model import Cluster, Pool, PoolQuota
from gpuc.model.names import GPU, mig_resource
from gpuc.spec.queues import PoolAmount

UNITS = ("nodes", "shares", "slices", "gpus")
"""The fields of a quota that set its amount."""


class CountedQuota(Struct, frozen=True):
    """The quota that one queue or namespace has for one node pool."""

    kind: str
    """The kind of the owner: "queue" or "namespace"."""
    owner: str
    """The name of the queue or namespace."""
    tenants: tuple[str, ...]
    """The names of the tenants that can use the quota."""
    pool: Pool
    path: Path
    spec: PoolAmount
    amounts: Amounts

    @property
    def place(self) -> Path:
        """The path of the first field in the spec that sets the amount, for example `nodes` or `gpus`."""
        return amount_path(self.path, self.spec)


def counted_resources(pool: Pool) -> tuple[str, ...]:
    """Returns the resources of a pool whose quota users write: GPUs or slices, or else cpu. gpuc computes the rest."""
    return pool.gpu_resource_names or (CPU,)


def quotas(cluster: Cluster, pool: Pool) -> Iterator[CountedQuota]:
    """Returns every quota for a pool, in the order of the spec.

    If Kueue counts the pool, the result has the quotas of queues; if ResourceQuotas count it, those of namespaces.
    Other rules report a quota of the wrong kind.
    """
    all_quotas = queue_quotas(cluster) if pool.counted == "kueue" else namespace_quotas(cluster)
    return (quota for quota in all_quotas if quota.pool is pool)


def queue_quotas(cluster: Cluster) -> Iterator[CountedQuota]:
    """Yields the quota of each queue for each node pool, in the order of the spec."""
    for queue in cluster.queues:
        for row in queue.pool_quotas:
            yield CountedQuota(
                "queue", queue.name, tuple(queue.tenant_names), row.pool, row.path, row.spec, row.nominal
            )


def namespace_quotas(cluster: Cluster) -> Iterator[CountedQuota]:
    """Yields the quota of each namespace for each node pool, in the order of the spec."""
    for tenant, namespace in cluster.namespaces:
        for row in namespace.quotas:
            yield CountedQuota("namespace", namespace.name, (tenant.name,), row.pool, row.path, row.spec, row.amounts)


def amount_path(path: Path, amount: PoolAmount) -> Path:
    """Returns the path of the first field that sets the amount of a quota, for example `nodes` or `gpus`."""
    return (*path, next(unit for unit in UNITS if getattr(amount, unit) is not None))


def quota_path(path: Path, amount: PoolAmount, resource: str) -> Path:
    """Returns the path of the number in the spec from which the quota for a resource comes.

    Args:
        path: the path of the quota.
        amount: the quota.
    """
    if amount.nodes is not None or amount.shares is not None:
        return amount_path(path, amount)
    for profile in amount.slices or {}:
        if resource in (mig_resource(profile), GPU) and (amount.gpus is None or resource != GPU):
            return (*path, "slices", profile)
    return (*path, "gpus")


def owner_kind(pool: Pool) -> str:
    """Returns who has the quotas for a pool: "queue" if Kueue counts the pool, or else "namespace"."""
    return "queue" if pool.counted == "kueue" else "namespace"


def counted_by(pool: Pool) -> list[Related]:
    """Returns the path of the field `counted` of a pool, for a finding; empty if the spec does not set the field."""
    if "counted" not in pool.spec.model_fields_set:
        return []
    return [Related(f"counted of node pool {pool.name} is {pool.counted}", (*pool.path, "counted"))]


Place = tuple[Path, Manifest | None]
"""A path, and the object with the path; None for a path in the spec."""
_IN_SPEC = {"borrowingLimit": "borrow", "lendingLimit": "lend"}


def counted_keys(member: Member) -> Iterator[Key]:
    """Yields the flavors and resources for which a user writes the quota. gpuc computes the other quotas of a spec."""
    for flavor, resource in member.quotas:
        if not member.queue or resource in counted_resources(member.pool_quotas[flavor].pool):
            yield flavor, resource


def place(member: Member, key: Key, field: str) -> Place:
    """Returns the path and the object of the field nominalQuota, borrowingLimit or lendingLimit for a flavor."""
    if (pool_quota := member.pool_quotas.get(key[0])) is None:
        return (*member.path(key), field), member.manifest
    if field in _IN_SPEC:
        return (*pool_quota.path, *_limit(pool_quota, key, field)), None
    return quota_path(pool_quota.path, pool_quota.spec, key[1]), None


def place_words(member: Member, key: Key, field: str) -> str:
    """Returns where a limit is written, for a message: "lend.1g.10gb of queue research for node pool serve"."""
    pool_quota = member.pool_quotas.get(key[0])
    name = ".".join(_limit(pool_quota, key, field)) if pool_quota else f"{field} of {key[1]}"
    return f"{name} of {member.words} for {member.flavor_words(key[0])}"


def _limit(pool_quota: PoolQuota, key: Key, field: str) -> tuple[str, ...]:
    """Returns the path of a limit below a quota of the spec; the path has a MIG profile if the limit is a map."""
    limit = getattr(pool_quota.spec, _IN_SPEC[field])
    profiles = limit if isinstance(limit, dict) else {}
    return (_IN_SPEC[field], *[name for name in profiles if key[1] in (GPU, mig_resource(name))][:1])
