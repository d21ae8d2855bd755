"""Node pools with their node classes and overlays: the nodes that they start, and the room for pods on these nodes."""

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
    """A NodePool with its node class, overlays and DaemonSets."""

    def __init__(
        self,
        manifest: Manifest,
        objects: ObjectSet,
        overlays: Overlays,
        daemonsets: Sequence[Pods],
        charts: frozenset[str],
    ) -> None:
        super().__init__(manifest)
        found = objects.find(*self.node_class) if self.node_class else None
        self._class_spec = dig(found.body, "spec") if found else None
        self._overlays = overlays
        self._daemonsets = daemonsets
        self._charts = charts
        self._rooms: dict[str, Amounts] = {}

    @cached_property
    def limits(self) -> Amounts:
        """The limits of the pool: resources of all of its nodes together, and the number of nodes."""
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
        """The instance types of the pool that meet the requirements of a pod."""
        wanted = list(term)
        return [instance for instance in self.types if _is_type(instance, wanted)]

    def room(self, instance: InstanceType) -> Amounts:
        """The room for pods on one node: the allocatable resources minus the requests of DaemonSets."""
        if instance.type not in self._rooms:
            self._rooms[instance.type] = self._room(instance)
        return self._rooms[instance.type]

    def max_nodes(self, instance: InstanceType) -> int | None:
        """The maximum number of nodes of an instance type; None if there is no limit."""
        size = {**self._capacity(instance), "nodes": 1}
        most = [limit // size[name] for name, limit in self.limits.items() if size.get(name)]
        if self.replicas is not None:
            most = [self.replicas]
        return min(most) if most else None

    def _capacity(self, instance: InstanceType) -> Amounts:
        """The capacity of a node: EC2's figures, replaced by those of NodeOverlays."""
        interfaces = dig(self._class_spec, "networkInterfaces")
        listed = sum(dig(interface, "interfaceType") == "efa-only" for _, interface in items(interfaces))
        found = {CPU: instance.vcpu * 1000, "memory": instance.memory_mib * 2**20}
        pieces = {GPU: instance.gpu_count, EFA: listed if isinstance(interfaces, list) else instance.efa}
        return found | {name: count for name, count in pieces.items() if count} | self._overlaid(instance)

    def _overlaid(self, instance: InstanceType) -> Amounts:
        """The capacity that overlays give to the nodes of an instance type; the overlay with precedence counts."""
        applied = self._overlays.of(self, instance.type, instance_labels(instance.type))
        found = capacity(overlay.value for overlay in applied)
        return amounts({resource: overlay.capacity[resource] for resource, overlay in found.items()})

    def _room(self, instance: InstanceType) -> Amounts:
        spec = self._class_spec
        found = allocatable(instance, spec) | {
            name: count for name, count in self._capacity(instance).items() if name not in (CPU, "memory")
        }
        huge = sum(count for name, count in found.items() if name.startswith("hugepages-"))
        found["memory"] -= huge
        has_efa = bool(found.get(EFA)) and isinstance(dig(spec, "networkInterfaces"), list)
        taken = agent_requests(instance, has_efa, self._charts)
        for pods in self._daemons:
            requests = pod_requests(pods.spec)
            taken = {name: taken.get(name, 0) + requests.get(name, 0) for name in {**taken, **requests}}
            taken[PODS] += 1
        return {name: count - taken.get(name, 0) for name, count in found.items()}

    @cached_property
    def _daemons(self) -> list[Pods]:
        """The DaemonSet pods that run on nodes of the pool."""
        return [
            pods for pods in self._daemonsets if self.accepts(pods) and not untolerated(self.taints, pods.tolerations)
        ]

    def accepts(self, pods: Pods) -> bool:
        """Whether a node of the pool can match the node selector of the pods."""
        return any(self.mismatch(term) is None for term in pods.terms)


def _is_type(instance: InstanceType, wanted: Iterable[Requirement]) -> bool:
    """Whether an instance type meets the requirements; requirements for other labels are ignored."""
    labels = instance_labels(instance.type)
    return all(domain.allows(labels[normal(key)]) for key, domain in wanted if normal(key) in labels)
