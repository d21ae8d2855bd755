"""The class Cluster: the spec of a cluster after gpuc has resolved all names. Rules and emitters read it."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, wraps
from ipaddress import IPv4Network
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from gpuc.catalog import Catalog
from gpuc.catalog.records import Release
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.addresses import SPECIAL_RANGES, joined
from gpuc.kubernetes.kueue import BATCH_JOB
from gpuc.kubernetes.quota import Node
from gpuc.manifest.manifest import Manifest
from gpuc.model.gpu_pool import GpuPool
from gpuc.model.pool import Pool
from gpuc.model.queue import Cohort, Queue, quota_nodes
from gpuc.model.substrate import Substrate, substrate_of
from gpuc.model.tenant import Namespace, Profile, Tenant
from gpuc.parts.workload_kinds import spec_frameworks
from gpuc.policy.library import Policy
from gpuc.spec.cluster import Spec
from gpuc.spec.cluster_network import ClusterNetwork
from gpuc.spec.platform import Framework, Stage
from gpuc.spec.platform import Policy as PolicySpec
from gpuc.spec.pools import Pool as PoolSpec
from gpuc.spec.tenants import Tenant as TenantSpec

if TYPE_CHECKING:
    from gpuc.catalog.operations import DatapathFact

T = TypeVar("T")
SPEC: Path = ("spec",)

ALWAYS_PLATFORM = ("default", "kube-system", "kube-public", "kube-node-lease")


class Cluster(Struct, frozen=True, dict=True):
    """One GPU cluster, with resolved names and computed amounts of resources."""

    name: str
    file: str
    """Path of the spec file, relative to the root of the repository."""
    spec: Spec
    catalog: Catalog
    policies: dict[str, Policy]
    """The admission policies that the cluster has, by name, sorted. Empty if the spec has no policies."""
    known_policies: dict[str, Policy]
    """All policies of gpuc and of the fleet, by name, sorted."""
    components: dict[str, Release]
    """Charts of the release set by component, with the versions of this cluster."""
    pools: tuple[Pool, ...]
    profiles: tuple[Profile, ...]
    queues: tuple[Queue, ...]
    cohorts: tuple[Cohort, ...]
    tenants: tuple[Tenant, ...]
    user_manifests: tuple[Manifest, ...] = ()
    """The objects that users wrote in manifests/."""
    object_owners: tuple[str, ...] = ()
    """The owners of the objects in manifests/: names of tenants, and an empty text for the platform."""

    @property
    def network(self) -> ClusterNetwork:
        return self.spec.network

    @property
    def substrate(self) -> Substrate:
        return substrate_of(self.spec)

    @property
    def endpoint_cidrs(self) -> tuple[str, ...]:
        """The address ranges of the object store, the image registry and the token service, without duplicates."""
        of_substrate = (cidr for _, cidrs in self.substrate.endpoint_ranges(self.spec) for cidr in cidrs)
        return tuple(dict.fromkeys([*self.network.endpoint_cidrs, *of_substrate]))

    @property
    def api_server_service(self) -> str | None:
        """The address of the Service kubernetes: the first address of `network.serviceCidr`; None for a wrong range.

        Source: Kubernetes documentation, kube-apiserver, --service-cluster-ip-range
        """
        try:
            return str(IPv4Network(self.network.service_cidr, strict=False)[1]) if self.network.service_cidr else None
        except (ValueError, IndexError):
            return None

    @cached_property
    def outside_internet(self) -> tuple[IPv4Network, ...]:
        """The address ranges that `network.internet` does not allow: special ranges, and ranges of the cluster."""
        services = [self.network.service_cidr] if self.network.service_cidr else []
        network = self.network
        return joined(
            [*SPECIAL_RANGES, *network.pod_cidrs, *services, *network.endpoint_cidrs, *network.api_server_cidrs]
        )

    @property
    def datapath(self) -> "Mapping[str, DatapathFact]":
        """How the network policy engine matches peers of policies, by the other end of a connection, such as a host.

        Empty for an engine that gpuc has not verified.
        """
        return self.catalog.datapaths.get(self.network.policy_engine, {})

    @property
    def gpu_pools(self) -> tuple[GpuPool, ...]:
        return tuple(pool for pool in self.pools if isinstance(pool, GpuPool))

    @property
    def efa_pools(self) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.pools if pool.has_efa)

    @cached_property
    def platform_namespaces(self) -> tuple[str, ...]:
        """The namespaces of the platform, sorted. Policies, quotas and queues of tenants do not apply to them."""
        names = {component.namespace for component in self.components.values()}
        names |= {self.spec.delivery.destination.namespace, *ALWAYS_PLATFORM}
        if self.spec.observability is not None:
            names.add(self.spec.observability.namespace)
        return tuple(sorted(names))

    @property
    def frameworks(self) -> tuple[Framework, ...]:
        """The kinds of workloads that Kueue manages, without duplicates. Empty if the cluster has no queues."""
        return self.job_kinds if self.queues else ()

    @cached_property
    def job_kinds(self) -> tuple[Framework, ...]:
        """The kinds of workloads in `kueue.frameworks`. Default: Jobs, and the kinds that components define."""
        brought = {BATCH_JOB, *chain.from_iterable(release.frameworks for release in self.components.values())}
        chosen = self.spec.kueue.frameworks or [name for name in spec_frameworks() if name in brought]
        return tuple(dict.fromkeys(chosen))

    @cached_property
    def brought_controllers(self) -> dict[str, str]:
        """The ServiceAccounts ("namespace/name") of the controllers that components install, by kind of workload."""
        rows = ((row.namespace, *account) for row in self.components.values() for account in row.frameworks.items())
        return {framework: f"{namespace}/{account}" for namespace, framework, account in rows}

    @property
    def controller_accounts(self) -> dict[str, str]:
        """The ServiceAccounts of workload controllers from components and `kueue.controllers`, by kind of workload."""
        return {**self.brought_controllers, **{str(name): user for name, user in self.spec.kueue.controllers.items()}}

    def priorities_of(self, tenant: str) -> list[str]:
        """Returns the names of the priorities that a tenant may use, in the order of the spec."""
        rows = self.spec.priorities.items()
        return [name for name, priority in rows if priority.tenants is None or tenant in priority.tenants]

    def is_managed(self, component: str) -> bool:
        """Returns whether gpuc installs the chart of a component; otherwise another team installs the chart."""
        settings = self.spec.components.get(component)
        return settings is None or settings.managed

    def values_file(self, component: str) -> str:
        """Returns the path of the file with the Helm values of a component, relative to the repository.

        If gpuc installs the chart, Argo CD reads the file. Otherwise the team that installs the chart reads the file.
        """
        if self.is_managed(component):
            return self.out(f"{component}/values.yaml")
        return self.entry(f"values/{component}.yaml")

    @property
    def namespaces(self) -> Iterator[tuple[Tenant, Namespace]]:
        """Pairs of a tenant and a namespace of the tenant, in the order of the spec.

        In an incomplete model, the pairs end before the first tenant or namespace that gpuc could not resolve.
        """
        return ((tenant, namespace) for tenant in self.tenants for namespace in tenant.namespaces)

    @property
    def metadata_sections(self) -> dict[Path, Spec | PoolSpec | TenantSpec]:
        """The sections that can set labels and annotations of objects, by path: the cluster, pools and tenants."""
        pools = {pool.path: pool.spec for pool in self.pools}
        return {SPEC: self.spec, **pools, **{tenant.path: tenant.spec for tenant in self.tenants}}

    @property
    def auditors(self) -> tuple[str, ...]:
        """The groups that may read the objects of all tenants."""
        return tuple(self.spec.auditors.groups) if self.spec.auditors else ()

    @property
    def tenant_namespaces(self) -> tuple[str, ...]:
        return tuple(sorted(namespace.name for _, namespace in self.namespaces))

    @property
    def policy_specs(self) -> Mapping[str, PolicySpec]:
        """The settings under `policies` in the spec, by policy name or `default`; empty if the key is missing."""
        return self.spec.policies or {}

    @property
    def policy_default(self) -> Stage:
        """The rollout stage of the policies for which the spec sets none: the stage under `default`, or dryrun."""
        default = self.policy_specs.get("default")
        return (default and default.stage) or "dryrun"

    def policy_stage(self, name: str) -> Stage:
        """Returns the rollout stage of a policy: dryrun, warn or deny."""
        policy = self.policy_specs.get(name)
        return (policy and policy.stage) or self.policy_default

    def policy_settings(self, name: str) -> dict[str, Any]:
        """Returns the parameters that the spec sets for a policy. The stage of the policy is not included."""
        policy = self.policy_specs.get(name)
        return dict(policy.model_extra or {}) if policy else {}

    def out(self, file: str) -> str:
        """Returns the path out/<cluster>/<file>, which is relative to the repository."""
        return f"out/{self.name}/{file}"

    def entry(self, file: str) -> str:
        """Returns the path clusters/<cluster>/<file>, which is relative to the repository."""
        return f"clusters/{self.name}/{file}"

    def cohort_of(self, queue: Queue) -> Cohort | None:
        return next((cohort for cohort in self.cohorts if cohort.name == queue.spec.cohort), None)

    @cached_property
    def quota_nodes(self) -> dict[str, Node]:
        """The ClusterQueues by name. Each is a node of the tree that Kueue makes of cohorts and ClusterQueues."""
        return quota_nodes(self.queues, self.cohorts)

    def queues_of(self, pool: Pool) -> tuple[Queue, ...]:
        """Returns the queues that have a quota for the pool."""
        return self._queues_by_pool.get(pool.name, ())

    @cached_property
    def _queues_by_pool(self) -> dict[str, tuple[Queue, ...]]:
        found: dict[str, tuple[Queue, ...]] = {}
        for queue in self.queues:
            for name in dict.fromkeys(pool.name for pool in queue.pools):
                found[name] = (*found.get(name, ()), queue)
        return found

    def tenants_of(self, pool: Pool) -> tuple[Tenant, ...]:
        """Returns the tenants that have a quota for the pool, either in a queue or in a namespace."""
        return tuple(tenant for tenant in self.tenants if pool in tenant.pools)


def once_for_each_cluster(reader: Callable[[Cluster], T]) -> Callable[[Cluster], T]:
    """Decorates a function that computes something from a cluster: the result is computed once and then kept.

    Callers must not change the result.
    """

    @wraps(reader)
    def result(cluster: Cluster) -> T:
        # The fields of a Struct are not in its __dict__, so a changed copy of a cluster begins without results.
        known: dict[Callable[[Cluster], Any], Any] = cluster.__dict__.setdefault("results", {})
        if reader not in known:
            known[reader] = reader(cluster)
        found: T = known[reader]
        return found

    return result
