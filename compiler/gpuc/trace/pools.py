"""Node pools with their node classes and overlays: the nodes of a pool, and the resources for pods on these nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gpuc.admission.mutating import admitted_pod
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, PODS, Amounts, amounts
from gpuc.kubernetes.node_pool import AWS, INSTANCE_TYPE, NODE_POOL, REGION, ZONE, normal
from gpuc.kubernetes.overlay import capacity
from gpuc.kubernetes.selector import Domain, Requirement
from gpuc.kubernetes.toleration import untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import RESERVED_INSTANCES
from gpuc.model.node import max_pods, predicted_allocatable
from gpuc.objects.node_pools import Overlays, Pool
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pod_resources import pod_requests
from gpuc.objects.pods import Pods
from gpuc.trace.instance_capacity import EFA, GPU, agent_requests, disk_bytes
from gpuc.trace.instance_labels import TYPE_LABELS, all_types, devices, instance_labels, meets_type
from gpuc.trace.node_class import (
    AUTO_MODE_GROUP,
    EC2_GROUP,
    class_offer,
    has_node_labels,
    region_of,
    reservation_ids,
    unknown_location,
)

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

_TEMPLATE: Path = ("spec", "template")
_LABELS: Path = (*_TEMPLATE, "metadata", "labels")


class NodePool(Pool):
    """A NodePool with its node class, and with the NodeOverlays and DaemonSets that apply to its nodes."""

    def __init__(
        self,
        manifest: Manifest,
        objects: ObjectSet,
        overlays: Overlays,
        daemonsets: Sequence[Pods],
        charts: frozenset[str],
        region: str = "",
    ) -> None:
        super().__init__(manifest)
        self.catalog, self._objects = objects.catalog, objects
        self._node_class = objects.find(*self.node_class) if self.node_class else None
        self._class_spec = dig(self._node_class.body, "spec") if self._node_class else None
        self._overlays = overlays
        self._daemonsets = daemonsets
        self._charts = charts
        self._region = region_of(self.listed(ZONE)) or region
        self._rooms: dict[str, Amounts] = {}

    @cached_property
    def limits(self) -> Amounts:
        """The limits of the pool: the total resources of all nodes, and the number of nodes."""
        return amounts(dig(self.manifest.body, "spec", "limits"))

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        """The instance types of EC2 that the pool can certainly start, and those that it can start perhaps."""
        if self.api_group not in (EC2_GROUP, AUTO_MODE_GROUP) or self._class_conflict(self.offer.items()):
            return [], []
        names: Iterable[str] = sorted(self.listed(INSTANCE_TYPE))
        if not names:
            families = self.listed(f"{AWS}instance-family")
            names = [name for name in all_types(self.catalog) if not families or name.partition(".")[0] in families]
        sure, unsure = [], []
        for name in names:
            verdict = meets_type(self.catalog, name, self.offer)
            if verdict and self._has_figures(name):
                sure.append(name)
            elif verdict is not False:
                unsure.append(name)
        return sure, unsure

    def _has_figures(self, name: str) -> bool:
        """Returns whether the resources of a node of an instance type are known."""
        return self.api_group == EC2_GROUP and self.catalog.instance_type(name) is not None

    def _class_conflict(self, requirements: Iterable[tuple[str, Domain]]) -> Requirement | None:
        """Returns the first requirement for a label that no node of the node class meets."""
        for wanted in requirements:
            key, domain = normal(wanted[0]), wanted[1]
            known = self._class_offer.get(key)
            if known is not None and known.meet(domain).is_empty:
                return Requirement(*wanted)
        return None

    @cached_property
    def _class_offer(self) -> dict[str, Domain]:
        return class_offer(self.api_group, self._class_spec, self._region)

    def possible_values(self, key: str) -> frozenset[str]:
        """Returns the values of a label that the pool or its node class list; empty if no values are listed."""
        known = [offer[normal(key)] for offer in (self.offer, self._class_offer) if normal(key) in offer]
        return (known[0].meet(known[-1]).listed or frozenset()) if known else frozenset()

    @property
    def reservation_ids(self) -> frozenset[str]:
        """The ids of the capacity reservations of the pool; empty if the input does not show the ids."""
        return reservation_ids(self._class_spec)

    @cached_property
    def reserved_nodes(self) -> int | None:
        """The declared number of instances of the capacity reservations of the pool; None if it is not declared."""
        declared = self.manifest.annotations.get(RESERVED_INSTANCES)
        return int(declared) if isinstance(declared, str) and declared.isdecimal() else None

    @cached_property
    def api_group(self) -> str:
        """The API group of the node class; the group of EC2NodeClass if the reference is incomplete."""
        return self.node_class[0] if self.node_class else EC2_GROUP

    def mismatch(self, term: Iterable[Requirement]) -> Requirement | None:
        """Returns the first requirement that no node of the pool can meet, also because of its node class."""
        wanted = tuple(term)
        return super().mismatch(wanted) or self._class_conflict(wanted)

    def holder(self, wanted: Requirement) -> tuple[Manifest, Path]:
        """Returns the object and the path that decide the label of a requirement that no node of the pool meets.

        For a label that no object sets, these are the labels of the node template.
        """
        key, declared = normal(wanted.key), dig(self.manifest.body, *_LABELS)
        if key == REGION and key not in self.offer:
            key = ZONE
        if key != ZONE and self._node_class is not None and super().mismatch((wanted,)) is None:
            return self._node_class, ("spec",)
        if wanted.key == NODE_POOL:
            return self.manifest, ("metadata", "name")
        if (index := self.requirement_index(key)) is not None:
            return self.manifest, (*_TEMPLATE, "spec", "requirements", index)
        if isinstance(declared, dict) and wanted.key in declared:
            return self.manifest, (*_LABELS, wanted.key)
        return self.manifest, _LABELS

    @cached_property
    def types(self) -> tuple[InstanceType, ...]:
        """The instance types with known figures that the pool can certainly start."""
        rows = (self.catalog.instance_type(name) for name in self._names[0])
        return tuple(row for row in rows if row is not None)

    @property
    def is_known(self) -> bool:
        """Whether every instance type that the pool can start is in `types`."""
        return self.api_group == EC2_GROUP and not self._names[1]

    def types_for(self, term: Iterable[Requirement]) -> list[InstanceType]:
        """Returns the instance types of the pool that certainly meet the requirements of a pod."""
        wanted = self._about_types(term)
        return [row for row in self.types if not wanted or meets_type(self.catalog, row.type, {}, wanted)]

    def unsure_types_for(self, term: Iterable[Requirement]) -> list[str]:
        """Returns the instance types that the pool can perhaps start, and that perhaps meet the requirements."""
        wanted, (sure, unsure) = self._about_types(term), self._names
        return [
            *(name for name in unsure if meets_type(self.catalog, name, {}, wanted) is not False),
            *(name for name in sure if wanted and meets_type(self.catalog, name, {}, wanted) is None),
        ]

    def _about_types(self, term: Iterable[Requirement]) -> list[Requirement]:
        return [wanted for wanted in term if has_node_labels(wanted.key)]

    def unknown_location(self, term: Iterable[Requirement]) -> str:
        """Returns the requirement of a pod for a zone or region that the input does not show; empty without one."""
        return unknown_location({**self._class_offer, **self.offer}, term)

    def values(self, key: str, names: Iterable[str]) -> set[str]:
        """Returns the values of a label that the instance type determines, for several instance types."""
        return {value for name in names if (value := instance_labels(self.catalog, name).get(key)) is not None}

    def unmet_min_values(self, names: Sequence[str]) -> str:
        """Returns a message if the instance types for a pod have fewer values of a label than minValues; or "".

        Source: sigs.k8s.io/karpenter v1.14.1 pkg/cloudprovider/types.go (SatisfiesMinValues)
        """
        for key, least in self.min_values.items() if self.replicas is None else ():
            if key in TYPE_LABELS and (count := len(self.values(key, names))) < least:
                return f"node pool {self.name} needs {least} values of {key} (minValues), and the types have {count}"
        return ""

    def room(self, instance: InstanceType) -> Amounts:
        """Returns the resources for pods on one node: the allocatable resources minus the requests of DaemonSets."""
        if instance.type not in self._rooms:
            self._rooms[instance.type] = self._room(instance)
        return self._rooms[instance.type]

    def max_nodes(self, instance: InstanceType, used: Mapping[str, int] | None = None) -> int | None:
        """Returns the maximum number of nodes of an instance type; None without a limit.

        Args:
            used: the resources of other nodes of the pool.
        """
        node, taken = {**self.capacity(instance), "nodes": 1}, used or {}
        if self.replicas is not None:
            return self.replicas - taken.get("nodes", 0)
        free = ((limit - taken.get(name, 0)) // node[name] for name, limit in self.limits.items() if node.get(name))
        return min(free, default=None)

    def capacity(self, instance: InstanceType) -> Amounts:
        """Returns the capacity of a node: the resources of the instance type, overridden by NodeOverlays."""
        interfaces = dig(self._class_spec, "networkInterfaces")
        efa_interfaces = sum(dig(interface, "interfaceType") == "efa-only" for _, interface in items(interfaces))
        resources = {CPU: instance.vcpu * 1000, "memory": instance.memory_mib * 2**20}
        counts = {GPU: instance.gpu_count, EFA: efa_interfaces if isinstance(interfaces, list) else instance.efa}
        resources |= {name: count for name, count in counts.items() if count} | devices(self.catalog, instance.type)
        return resources | self._overlay_capacity(instance)

    def _overlay_capacity(self, instance: InstanceType) -> Amounts:
        """Returns the capacity that NodeOverlays give to a node; of two overlays, the one with precedence counts."""
        applied = self._overlays.of(self, instance.type, instance_labels(self.catalog, instance.type))
        by_resource = capacity(overlay.value for overlay in applied)
        return amounts({resource: overlay.capacity[resource] for resource, overlay in by_resource.items()})

    def _room(self, instance: InstanceType) -> Amounts:
        """Computes the result of room without the cache. Huge pages are a part of the memory of a node."""
        spec = self._class_spec
        disk, settings = disk_bytes(self.catalog, instance, spec), dig(spec, "kubelet")
        resources = predicted_allocatable(instance, self.catalog.kubelet, disk, settings) | {
            name: count for name, count in self.capacity(instance).items() if name not in (CPU, "memory")
        }
        resources[PODS] = max_pods(instance, settings)
        resources["memory"] -= sum(count for name, count in resources.items() if name.startswith("hugepages-"))
        has_efa = bool(resources.get(EFA)) and isinstance(dig(spec, "networkInterfaces"), list)
        present = frozenset(pods.manifest.name for pods in self._daemonsets)
        used = agent_requests(self.catalog, instance, has_efa, self._charts, present)
        for requests in self._daemonset_requests:
            used = {name: used.get(name, 0) + requests.get(name, 0) for name in {**used, **requests}}
            used[PODS] += 1
        return {name: count - used.get(name, 0) for name, count in resources.items()}

    @cached_property
    def _daemonset_requests(self) -> list[Amounts]:
        """The requests of the DaemonSet pods that run on nodes of the pool."""
        return [
            pod_requests(admitted_pod(self._objects, pods.manifest.namespace, pods.spec))
            for pods in self.daemonset_pods
        ]

    @cached_property
    def daemonset_pods(self) -> list[Pods]:
        """The DaemonSet pods that run on nodes of the pool."""
        return [
            pods for pods in self._daemonsets if self.accepts(pods) and not untolerated(self.taints, pods.tolerations)
        ]

    def accepts(self, pods: Pods) -> bool:
        """Returns whether a node of the pool can match the node selector of the pods."""
        return any(self.mismatch(term) is None for term in pods.terms)
