"""Resolved tenants: namespaces, queues, pools and maximum usage."""

from functools import cached_property
from typing import get_args

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, Amounts, total
from gpuc.model.pool import Pool
from gpuc.model.queue import ClusterQueue, Queue
from gpuc.objects.object_set import grouped
from gpuc.spec.platform import NcclProfile
from gpuc.spec.queues import PoolAmount
from gpuc.spec.tenants import Members as MembersSpec
from gpuc.spec.tenants import Namespace as NamespaceSpec
from gpuc.spec.tenants import Role
from gpuc.spec.tenants import Tenant as TenantSpec
from gpuc.spec.trains import Trains

DEFAULT_REQUEST: Amounts = {CPU: 100, MEMORY: 256 * MIB, EPHEMERAL_STORAGE: GIB}
"""Default requests for containers without requests, because the ResourceQuota rejects pods without requests."""


ROLES: tuple[Role, ...] = get_args(Role)
"""The roles of members. Each role contains the rights of the roles before it."""


class Profile(Struct, frozen=True):
    """An NCCL profile."""

    name: str
    path: Path
    spec: NcclProfile

    @property
    def config_map(self) -> str:
        """The name of the ConfigMap in each namespace that uses the profile."""
        return f"nccl-{self.name}"


class NamespaceQuota(Struct, frozen=True):
    """The quota of a namespace on a pool that ResourceQuotas count."""

    pool: Pool
    path: Path
    spec: PoolAmount
    amounts: Amounts
    """All resources of the pool."""


class Namespace(Struct, frozen=True, dict=True):
    """A namespace of a tenant."""

    name: str
    path: Path
    spec: NamespaceSpec
    nccl: Profile | None
    queues: tuple[Queue, ...]
    """The queues in which the namespace may submit workloads, in the order of the spec."""
    quotas: tuple[NamespaceQuota, ...]
    """The quotas on pools that ResourceQuotas count, in the order of the spec."""
    ceiling: Amounts
    """The maximum that Kueue can admit in the queues of the namespace: nominal quota, and quota of lenders."""

    @property
    def hard(self) -> Amounts:
        """The limits of the ResourceQuota: the ceiling of the queues and the quotas of the namespace."""
        return total([self.ceiling, *(quota.amounts for quota in self.quotas)])

    @property
    def parts(self) -> dict[str, Amounts]:
        """The limits of cpu and memory: for the pods with the PriorityClass of a pool, and under "" for all other pods.

        Empty if the namespace has no quota on a pool whose pods have a PriorityClass.
        """
        parts = {quota.pool.priority_class: quota.amounts for quota in self.quotas if quota.pool.priority_class}
        used = total(parts.values())
        rest = {name: self.hard[name] - used[name] for name in used}
        found = {**parts, "": rest} if parts else {}
        return {name: {key: amounts[key] for key in (CPU, MEMORY)} for name, amounts in found.items()}

    @cached_property
    def local_queues(self) -> tuple[str, ...]:
        """Names of the LocalQueues. A LocalQueue has the name of its ClusterQueue."""
        return tuple(cluster_queue.name for cluster_queue in self.cluster_queues)

    @property
    def cluster_queues(self) -> tuple[ClusterQueue, ...]:
        """The ClusterQueues of the namespace's queues."""
        return tuple(cluster_queue for queue in self.queues for cluster_queue in queue.cluster_queues)


class Members(Struct, frozen=True):
    """Groups with the same role."""

    path: Path
    spec: MembersSpec
    namespaces: tuple[str, ...]
    """The namespaces in which the groups have the role."""


class Run(Struct, frozen=True):
    """A training runtime of a tenant, and the properties of runs with this runtime."""

    name: str
    path: Path
    spec: Trains
    namespace: Namespace
    pool: Pool

    @property
    def queue(self) -> ClusterQueue | None:
        """The first ClusterQueue of the namespace that has quota of the pool."""
        return next((queue for queue in self.namespace.cluster_queues if self.pool in queue.pools), None)

    @property
    def checkpoint_seconds(self) -> int | None:
        """The time between two checkpoints; None for runs without checkpoints."""
        if self.spec.checkpoints is None:
            return None
        of_pool = self.pool.spec.runs.checkpoint_every if self.pool.spec.runs else None
        return self.spec.checkpoints.every or of_pool


class Tenant(Struct, frozen=True, dict=True):
    """A team with its own namespaces, quota and bill."""

    name: str
    path: Path
    spec: TenantSpec
    namespaces: tuple[Namespace, ...]
    queues: tuple[Queue, ...]
    """The queues of the tenant, in the order of the spec."""
    members: tuple[Members, ...]
    runs: tuple[Run, ...] = ()
    """The training runtimes, in the order of the spec."""

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The groups of all members, without duplicates."""
        return tuple(dict.fromkeys(group for members in self.members for group in members.spec.groups))

    def members_of(self, namespace: Namespace, role: Role) -> tuple[Members, ...]:
        """Returns the members with a role in a namespace."""
        return tuple(
            members for members in self.members if members.spec.role == role and namespace.name in members.namespaces
        )

    def role_of(self, group: str, namespace: Namespace) -> Role | None:
        """Returns the widest role of a group in a namespace; None if the group has no role there."""
        roles = [role for role in ROLES for members in self.members_of(namespace, role) if group in members.spec.groups]
        return roles[-1] if roles else None

    def groups_by_role(self, namespace: Namespace) -> dict[Role | None, tuple[str, ...]]:
        """Returns the groups of the tenant by their widest role in a namespace.

        Groups without a role have the key None.
        """
        roles = grouped(self.groups, lambda group: self.role_of(group, namespace))
        return {role: tuple(groups) for role, groups in roles.items()}

    def editors(self, namespace: Namespace) -> tuple[str, ...]:
        """Returns the groups that may create workloads in a namespace. Groups with the role `edit` come first."""
        roles = self.groups_by_role(namespace)
        return (*roles.get("edit", ()), *roles.get("admin", ()))

    @property
    def isolates_network(self) -> bool:
        return self.spec.isolation in ("network", "dedicated")

    @property
    def caller_namespaces(self) -> tuple[str, ...]:
        """The namespaces of the platform whose pods may connect to pods of the tenant."""
        callers = (entry.namespace for entry in self.spec.network.ingress if entry.namespace is not None)
        return tuple(dict.fromkeys(callers))

    @cached_property
    def pools(self) -> tuple[Pool, ...]:
        """The pools of the tenant's queues and of its namespaces' quotas, without duplicates."""
        queued = (pool for queue in self.queues for pool in queue.pools)
        own = (quota.pool for namespace in self.namespaces for quota in namespace.quotas)
        return tuple({pool.name: pool for pool in (*queued, *own)}.values())
