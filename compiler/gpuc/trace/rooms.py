"""The resources for pods on the nodes of a pool: the allocatable resources minus the requests of the agents."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from gpuc.admission.mutating import admitted_pod
from gpuc.catalog.records import EKS, FLEET
from gpuc.cluster.pool import Pool
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, PODS, Amounts, total
from gpuc.kubernetes.toleration import untolerated
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.pod_resources import pod_requests
from gpuc.objects.pods import Pods

if TYPE_CHECKING:
    from gpuc.catalog.records import Daemonset, InstanceType


class Room:
    """The room for pods on the nodes of a pool, by instance type."""

    def __init__(self, pool: Pool, objects: ObjectSet, daemonsets: Iterable[Pods], charts: frozenset[str]) -> None:
        """Reads the agents on the nodes.

        Args:
            daemonsets: the pods of the DaemonSets among the objects.
            charts: the names of the installed Helm charts.
        """
        self._pool = pool
        self._objects = objects
        self._daemonsets = tuple(daemonsets)
        self._charts = charts
        self._by_type: dict[str, Amounts] = {}

    @cached_property
    def daemonset_pods(self) -> list[Pods]:
        """The DaemonSet pods that run on nodes of the pool."""
        return [
            pods
            for pods in self._daemonsets
            if accepts(self._pool, pods) and not untolerated(self._pool.taints, pods.tolerations)
        ]

    @cached_property
    def _requests(self) -> Amounts:
        """The requests of the DaemonSet pods that run on nodes of the pool."""
        admitted = (admitted_pod(self._objects, pods.manifest.namespace, pods.spec) for pods in self.daemonset_pods)
        return total({**pod_requests(pod), PODS: 1} for pod in admitted)

    def of(self, instance: InstanceType) -> Amounts:
        """Returns the resources for pods on one node of an instance type."""
        if instance.type not in self._by_type:
            resources = self._pool.allocatable(instance)
            used = total([self._requests, self._agent_requests(instance)])
            self._by_type[instance.type] = {name: count - used.get(name, 0) for name, count in resources.items()}
        return self._by_type[instance.type]

    def _agent_requests(self, instance: InstanceType) -> Amounts:
        """Returns the requests of the agents of EKS, of the fleet and of the installed charts on one node.

        A DaemonSet of the fleet that is among the objects does not count: its own requests count.
        """
        kinds = {"all", *(["gpu"] if instance.gpu_count else []), *(["efa"] if self._pool.efa_interfaces else [])}
        present = {pods.manifest.name for pods in self._daemonsets}
        rows = [row for row in self._pool.catalog.daemonsets if row.nodes in kinds and self._is_installed(row)]
        rows = [row for row in rows if row.component != FLEET or row.name not in present]
        return {
            CPU: sum(row.cpu_milli for row in rows),
            MEMORY: sum(row.memory_mib for row in rows) * MIB,
            PODS: sum(1 for row in rows if row.component in (EKS, FLEET)),
        }

    def _is_installed(self, row: Daemonset) -> bool:
        """Returns whether EKS, the fleet or an installed chart contains the DaemonSet."""
        releases = self._pool.catalog.releases.values()
        charts = {release[row.component].chart for release in releases if row.component in release}
        return row.component in (EKS, FLEET) or not charts.isdisjoint(self._charts)


def accepts(pool: Pool, pods: Pods) -> bool:
    """Returns whether a node of the pool can match the node selector of the pods."""
    return any(pool.mismatch(term) is None for term in pods.terms)
