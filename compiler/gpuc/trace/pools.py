"""Node pools with their node classes and overlays: the nodes of a pool, and the resources for pods on these nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gpuc.catalog import load
from gpuc.kubernetes.amounts import CPU, PODS, Amounts, amounts
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, normal
from gpuc.kubernetes.overlay import capacity
from gpuc.kubernetes.selector import Requirement
from gpuc.kubernetes.toleration import untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.node_pools import Overlays, Pool
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pods import Pods
from gpuc.trace.instance_capacity import EFA, GPU, agent_requests, allocatable, instance_labels
from gpuc.trace.workload import pod_requests

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType


class NodePool(Pool):
    """A NodePool with its node class, and with the NodeOverlays and DaemonSets that apply to its nodes."""

    def __init__(
        self,
        manifest: Manifest,
        objects: ObjectSet,
        overlays: Overlays,
        daemonsets: Sequence[Pods],
        charts: frozenset[str],
    ) -> None:
        super().__init__(manifest)
        node_class = objects.find(*self.node_class) if self.node_class else None
        self._class_spec = dig(node_class.body, "spec") if node_class else None
        self._overlays = overlays
        self._daemonsets = daemonsets
        self._charts = charts
        self._rooms: dict[str, Amounts] = {}

    @cached_property
    def limits(self) -> Amounts:
        """The limits of the pool: the total resources of all nodes, and the number of nodes."""
        return amounts(dig(self.manifest.body, "spec", "limits"))

    @cached_property
    def types(self) -> tuple[InstanceType, ...]:
        """The instance types of the catalog that the pool can start."""
        catalog = load().instances
        names = sorted(self.listed(INSTANCE_TYPE)) or list(catalog)
        return tuple(catalog[name] for name in names if name in catalog and self.can_start(instance_labels(name)))

    @cached_property
    def is_known(self) -> bool:
        """Whether the catalog has every instance type that the pool can start."""
        names = self.listed(INSTANCE_TYPE)
        return bool(names) and all(name in load().instances for name in names)

    def types_for(self, term: Iterable[Requirement]) -> list[InstanceType]:
        """Returns the instance types of the pool that meet the requirements of a pod."""
        requirements = list(term)
        return [instance for instance in self.types if _meets(instance, requirements)]

    def room(self, instance: InstanceType) -> Amounts:
        """Returns the resources for pods on one node: the allocatable resources minus the requests of DaemonSets."""
        if instance.type not in self._rooms:
            self._rooms[instance.type] = self._room(instance)
        return self._rooms[instance.type]

    def max_nodes(self, instance: InstanceType) -> int | None:
        """Returns the maximum number of nodes of an instance type; None without a limit."""
        node = {**self._capacity(instance), "nodes": 1}
        if self.replicas is not None:
            return self.replicas
        return min((limit // node[name] for name, limit in self.limits.items() if node.get(name)), default=None)

    def _capacity(self, instance: InstanceType) -> Amounts:
        """Returns the capacity of a node: the resources of the instance type, overridden by NodeOverlays."""
        interfaces = dig(self._class_spec, "networkInterfaces")
        efa_interfaces = sum(dig(interface, "interfaceType") == "efa-only" for _, interface in items(interfaces))
        resources = {CPU: instance.vcpu * 1000, "memory": instance.memory_mib * 2**20}
        devices = {GPU: instance.gpu_count, EFA: efa_interfaces if isinstance(interfaces, list) else instance.efa}
        return resources | {name: count for name, count in devices.items() if count} | self._overlay_capacity(instance)

    def _overlay_capacity(self, instance: InstanceType) -> Amounts:
        """Returns the capacity that NodeOverlays give to a node; of two overlays, the one with precedence counts."""
        applied = self._overlays.of(self, instance.type, instance_labels(instance.type))
        by_resource = capacity(overlay.value for overlay in applied)
        return amounts({resource: overlay.capacity[resource] for resource, overlay in by_resource.items()})

    def _room(self, instance: InstanceType) -> Amounts:
        """Computes the result of room without the cache. Huge pages are a part of the memory of a node."""
        spec = self._class_spec
        resources = allocatable(instance, spec) | {
            name: count for name, count in self._capacity(instance).items() if name not in (CPU, "memory")
        }
        resources["memory"] -= sum(count for name, count in resources.items() if name.startswith("hugepages-"))
        has_efa = bool(resources.get(EFA)) and isinstance(dig(spec, "networkInterfaces"), list)
        used = agent_requests(instance, has_efa, self._charts)
        for pods in self._daemonset_pods:
            requests = pod_requests(pods.spec)
            used = {name: used.get(name, 0) + requests.get(name, 0) for name in {**used, **requests}}
            used[PODS] += 1
        return {name: count - used.get(name, 0) for name, count in resources.items()}

    @cached_property
    def _daemonset_pods(self) -> list[Pods]:
        """The DaemonSet pods that run on nodes of the pool."""
        return [
            pods for pods in self._daemonsets if self.accepts(pods) and not untolerated(self.taints, pods.tolerations)
        ]

    def accepts(self, pods: Pods) -> bool:
        """Returns whether a node of the pool can match the node selector of the pods."""
        return any(self.mismatch(term) is None for term in pods.terms)


def _meets(instance: InstanceType, requirements: Iterable[Requirement]) -> bool:
    """Returns whether an instance type meets the requirements for labels that the instance type determines."""
    labels = instance_labels(instance.type)
    return all(domain.allows(labels[normal(key)]) for key, domain in requirements if normal(key) in labels)
