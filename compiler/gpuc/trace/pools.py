"""A node pool as its NodePool, node class and overlays say: which nodes it makes, and what these leave to pods."""

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
from gpuc.trace.machine import EFA, GPU, allocatable, instance_labels, overhead
from gpuc.trace.work import requests

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType


class NodePool(Pool):
    """One NodePool with all that the tree says of its nodes."""

    def __init__(
        self,
        manifest: Manifest,
        tree: ObjectSet,
        overlays: Overlays,
        daemonsets: Sequence[Pods],
        charts: frozenset[str],
    ) -> None:
        super().__init__(manifest)
        found = tree.find(*self.node_class) if self.node_class else None
        self._class_spec = dig(found.body, "spec") if found else None
        self._overlays = overlays
        self._daemonsets = daemonsets
        self._charts = charts
        self._rooms: dict[str, Amounts] = {}

    @cached_property
    def limits(self) -> Amounts:
        """How far it grows, by resource of its nodes' capacity, and by nodes."""
        return amounts(dig(self.manifest.body, "spec", "limits"))

    @cached_property
    def types(self) -> tuple[InstanceType, ...]:
        """The instance types of the catalog that it may start."""
        catalog = load().instances
        names = sorted(self.listed(INSTANCE_TYPE)) or list(catalog)
        return tuple(catalog[name] for name in names if name in catalog and self.takes(instance_labels(name)))

    @cached_property
    def is_known(self) -> bool:
        """Whether the catalog has every type that it may start: what none of them holds, no node of it does."""
        names = self.listed(INSTANCE_TYPE)
        return bool(names) and all(name in load().instances for name in names)

    def types_for(self, term: Iterable[Requirement]) -> list[InstanceType]:
        """Its types that a pod's requirements leave."""
        wanted = list(term)
        return [instance for instance in self.types if _is_type(instance, wanted)]

    def room(self, instance: InstanceType) -> Amounts:
        """What a node of a type leaves to pods: allocatable less what DaemonSets ask for, and the pods that fit."""
        if instance.type not in self._rooms:
            self._rooms[instance.type] = self._room(instance)
        return self._rooms[instance.type]

    def nodes_max(self, instance: InstanceType) -> int | None:
        """How many nodes of a type there can be; None is no limit."""
        size = {**self._capacity(instance), "nodes": 1}
        most = [limit // size[name] for name, limit in self.limits.items() if size.get(name)]
        if self.replicas is not None:
            most = [self.replicas]
        return min(most) if most else None

    def _capacity(self, instance: InstanceType) -> Amounts:
        """What a node has before anything is taken off it: EC2's figures, then what overlays say."""
        interfaces = dig(self._class_spec, "networkInterfaces")
        listed = sum(dig(each, "interfaceType") == "efa-only" for _, each in items(interfaces))
        found = {CPU: instance.vcpu * 1000, "memory": instance.memory_mib * 2**20}
        pieces = {GPU: instance.gpu_count, EFA: listed if isinstance(interfaces, list) else instance.efa}
        return found | {name: count for name, count in pieces.items() if count} | self._overlaid(instance)

    def _overlaid(self, instance: InstanceType) -> Amounts:
        """Capacity by the overlays of the pool's nodes of a type, as far as known the one that counts before others."""
        given = self._overlays.of(self, instance.type, instance_labels(instance.type))
        found = capacity(overlay.value for overlay in given)
        return amounts({resource: overlay.capacity[resource] for resource, overlay in found.items()})

    def _room(self, instance: InstanceType) -> Amounts:
        spec = self._class_spec
        found = allocatable(instance, spec) | {
            name: count for name, count in self._capacity(instance).items() if name not in (CPU, "memory")
        }
        huge = sum(count for name, count in found.items() if name.startswith("hugepages-"))
        found["memory"] -= huge
        has_efa = bool(found.get(EFA)) and isinstance(dig(spec, "networkInterfaces"), list)
        taken = overhead(instance, has_efa, self._charts)
        for pods in self._daemons:
            asked = requests(pods.spec)
            taken = {name: taken.get(name, 0) + asked.get(name, 0) for name in {**taken, **asked}}
            taken[PODS] += 1
        return {name: count - taken.get(name, 0) for name, count in found.items()}

    @cached_property
    def _daemons(self) -> list[Pods]:
        """Pods of the tree's DaemonSets that land on its nodes."""
        return [
            pods for pods in self._daemonsets if self.lets_in(pods) and not untolerated(self.taints, pods.tolerations)
        ]

    def lets_in(self, pods: Pods) -> bool:
        """Whether a node of it can have the labels that pods ask for."""
        return any(self.mismatch(term) is None for term in pods.terms)


def _is_type(instance: InstanceType, wanted: Iterable[Requirement]) -> bool:
    """Whether an instance type fulfils requirements, as far as they are about types."""
    labels = instance_labels(instance.type)
    return all(domain.holds(labels[normal(key)]) for key, domain in wanted if normal(key) in labels)
