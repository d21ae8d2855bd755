"""The model of tenants: namespaces, members, queues, pools and maximum usage."""

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
    """An NCCL profile: environment variables for NCCL, which namespaces can select."""

    name: str
    path: Path
    spec: NcclProfile

    @property
    def config_map(self) -> str:
        """The name of the ConfigMap with the variables, in each namespace that uses the profile."""
        return f"nccl-{self.name}"


class NamespaceQuota(Struct, frozen=True):
    """The quota of a namespace for a pool whose resources ResourceQuotas count instead of Kueue."""

    pool: Pool
    path: Path
    spec: PoolAmount
    amounts: Amounts
    """All resources of the pool."""


class Namespace(Struct, frozen=True, dict=True):
    """A namespace of a tenant, with its queues and quotas."""

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
        """The limits (`hard`) of the ResourceQuota: the most that the queues admit, plus quotas of the namespace."""
        return total([self.ceiling, *(quota.amounts for quota in self.quotas)])

    @property
    def parts(self) -> dict[str, Amounts]:
        """The limits of cpu and memory by PriorityClass. Under "": the limits of pods without such a class.

        Empty if the namespace has no quota for a pool whose pods have a PriorityClass of the pool.
        """
        parts = {quota.pool.priority_class: quota.amounts for quota in self.quotas if quota.pool.priority_class}
        used = total(parts.values())
        rest = {name: self.hard[name] - used[name] for name in used}
        found = {**parts, "": rest} if parts else {}
        return {name: {key: amounts[key] for key in (CPU, MEMORY)} for name, amounts in found.items()}

    @cached_property
    def local_queues(self) -> tuple[str, ...]:
        """The names of the LocalQueues. A LocalQueue has the same name as its ClusterQueue."""
        return tuple(cluster_queue.name for cluster_queue in self.cluster_queues)

    @property
    def cluster_queues(self) -> tuple[ClusterQueue, ...]:
        """The ClusterQueues of the queues in which the namespace may submit workloads."""
        return tuple(cluster_queue for queue in self.queues for cluster_queue in queue.cluster_queues)


class Members(Struct, frozen=True):
    """Groups of users that have the same role in namespaces of the tenant."""

    path: Path
    spec: MembersSpec
    namespaces: tuple[str, ...]
    """The namespaces in which the groups have the role."""


class Run(Struct, frozen=True):
    """A training runtime of a tenant: the settings of all TrainJobs that name this runtime."""

    name: str
    path: Path
    spec: Trains
    namespace: Namespace
    pool: Pool

    @property
    def queue(self) -> ClusterQueue | None:
        """The first ClusterQueue of the namespace that has a quota for the pool; None if there is none."""
        return next((queue for queue in self.namespace.cluster_queues if self.pool in queue.pools), None)

    @property
    def checkpoint_seconds(self) -> int | None:
        """The seconds between two checkpoints; None if the spec sets no time, or if the runs write no checkpoints."""
        if self.spec.checkpoints is None:
            return None
        of_pool = self.pool.spec.runs.checkpoint_every if self.pool.spec.runs else None
        return self.spec.checkpoints.every or of_pool


class Tenant(Struct, frozen=True, dict=True):
    """A team that has its own namespaces, quota and bill."""

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
        """Returns the members that have exactly this role in the namespace."""
        return tuple(
            members for members in self.members if members.spec.role == role and namespace.name in members.namespaces
        )

    def role_of(self, group: str, namespace: Namespace) -> Role | None:
        """Returns the strongest role of a group in a namespace; None if the group has no role there."""
        roles = [role for role in ROLES for members in self.members_of(namespace, role) if group in members.spec.groups]
        return roles[-1] if roles else None

    def groups_by_role(self, namespace: Namespace) -> dict[Role | None, tuple[str, ...]]:
        """Returns the groups of the tenant by their strongest role in a namespace.

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
        """The pools for which the queues or the namespaces of the tenant have a quota, without duplicates."""
        queued = (pool for queue in self.queues for pool in queue.pools)
        own = (quota.pool for namespace in self.namespaces for quota in namespace.quotas)
        return tuple({pool.name: pool for pool in (*queued, *own)}.values())
