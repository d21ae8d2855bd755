"""An index of the objects that a trace needs: queues, flavors, node pools and namespaces."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuc.admission.mutating import admitted_pod
from gpuc.catalog.records import FLEET
from gpuc.cluster.application import Delivery
from gpuc.cluster.flavors import ResourceFlavor, resource_flavors
from gpuc.cluster.pool import Pool
from gpuc.cluster.pools import Pools
from gpuc.cluster.queue import Member, Queues, from_objects
from gpuc.kubernetes.amounts import PODS, Amounts, total
from gpuc.kubernetes.toleration import untolerated
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pod_resources import pod_requests
from gpuc.objects.pods import Pods, pods_of
from gpuc.parts.workload_kinds import workload_kinds

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType


class ClusterIndex:
    """The objects of a cluster with cached lookups. All traces in a cluster share one index."""

    def __init__(
        self,
        objects: ObjectSet,
        domain_nodes: Mapping[str, int] | None = None,
        accounts: Mapping[str, str] | None = None,
    ) -> None:
        self.objects = objects
        self.accounts = dict(objects.once(_installed_accounts) if accounts is None else accounts)
        """The ServiceAccounts of controllers as namespace/name by framework of Kueue, if they are not upstream's.

        Without an argument, the ServiceAccounts of the charts that Applications install."""
        self.domain_nodes = dict(domain_nodes or {})
        """The number of nodes in one topology domain by the label of the level, for levels that no object shows."""
        self.pool_matches: dict[Any, Any] = {}
        """Cache: the node pools that accept pods, by the node selector terms and tolerations of the pods."""

    @cached_property
    def queues(self) -> Queues:
        """The ClusterQueues and Cohorts of the objects."""
        return from_objects(self.objects)

    @property
    def quotas(self) -> dict[str, Member]:
        """The ClusterQueues by name, each with its quota for every flavor and resource."""
        return self.queues.by_name

    @property
    def nodes(self) -> Pools:
        """The node pools, for example NodePools of Karpenter, indexed by the labels of their nodes."""
        return self.objects.once(Pools)

    @cached_property
    def rooms(self) -> "dict[Pool, Room]":
        """For each node pool, the resources that its nodes have for pods."""
        return {pool: Room(pool, self) for pool in self.nodes.pools}

    @cached_property
    def daemonsets(self) -> list[Pods]:
        """The pods of all DaemonSets."""
        kinds = [kind for kind in workload_kinds() if kind.traits.is_per_node]
        return [pods for kind in kinds for found in self.objects.of(kind.group, kind.kind) for pods in pods_of(found)]

    @property
    def flavors(self) -> dict[str, ResourceFlavor]:
        """The ResourceFlavors by name."""
        return self.objects.once(resource_flavors)


def _installed_accounts(objects: ObjectSet) -> dict[str, str]:
    """Returns the ServiceAccounts of the controllers in the charts of Applications, by framework of Kueue."""
    releases = {row.chart: row.frameworks for rows in objects.catalog.releases.values() for row in rows.values()}
    return {
        framework: f"{application.destination.namespace}/{account}"
        for application in objects.once(Delivery).applications
        if application.chart
        for framework, account in releases.get(application.chart.chart, {}).items()
    }


class Room:
    """The resources that the nodes of a pool have for pods, by instance type, after the requests of DaemonSets."""

    def __init__(self, pool: Pool, cluster: ClusterIndex) -> None:
        self._pool = pool
        self._cluster = cluster
        self._by_type: dict[str, Amounts] = {}

    @cached_property
    def daemonset_pods(self) -> list[Pods]:
        """The DaemonSet pods that run on nodes of the pool."""
        pool = self._pool
        return [
            pods
            for pods in self._cluster.daemonsets
            if any(pool.mismatch(term) is None for term in pods.terms)
            and not untolerated(pool.taints, pods.tolerations)
        ]

    @cached_property
    def _requests(self) -> Amounts:
        return total({**self.requests_of(pods), PODS: 1} for pods in self.daemonset_pods)

    def requests_of(self, pods: Pods) -> Amounts:
        """Returns the requests of one pod, with the defaults of the API server and of LimitRanges."""
        return pod_requests(admitted_pod(self._cluster.objects, pods.manifest.namespace, pods.spec))

    def of(self, instance: "InstanceType") -> Amounts:
        """Returns the resources that one node of an instance type has for pods."""
        if instance.type not in self._by_type:
            resources = self._pool.allocatable(instance)
            used = total([self._requests, self._agent_requests(instance)])
            self._by_type[instance.type] = {name: count - used.get(name, 0) for name, count in resources.items()}
        return self._by_type[instance.type]

    def _agent_requests(self, instance: "InstanceType") -> Amounts:
        """Returns the requests of the agents of EKS, of the fleet and of the installed charts on one node.

        If a DaemonSet of the fleet is among the objects, the function does not count it: its pods are counted with
        their own requests.
        """
        present = {pods.manifest.name for pods in self._cluster.daemonsets}
        has_gpus, has_efa = bool(instance.gpu_count), bool(self._pool.efa_interfaces)
        rows = [
            row
            for row in self._pool.catalog.daemonsets_of([*self._installed, self._pool.substrate])
            if row.runs_on(has_gpus=has_gpus, has_efa=has_efa) and not (row.component == FLEET and row.name in present)
        ]
        own_pods = sum(1 for row in rows if row.component in (self._pool.substrate, FLEET))
        return total((*(row.requests for row in rows), {PODS: own_pods}))

    @cached_property
    def _installed(self) -> set[str]:
        """The components whose charts are installed, in any version."""
        charts = self._cluster.objects.once(Delivery).charts
        releases = self._pool.catalog.releases.values()
        return {name for release in releases for name, row in release.items() if row.chart in charts}
