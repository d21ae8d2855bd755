"""Reads a NodePool of Karpenter: the number of its nodes, their instance types, and their resources.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/apis/v1/nodepool.go (limits, replicas);
pkg/controllers/provisioning/scheduling (no instance type is launched beyond a limit)
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from gpuc.cluster.instance_labels import TYPE_LABELS, all_types, devices, instance_labels, meets_type, of_aws
from gpuc.cluster.node_allocatable import predicted_memory
from gpuc.cluster.node_class import AUTO_MODE_GROUP, RESERVATION_ID, RESERVATION_LABELS
from gpuc.cluster.node_template import NodeTemplate
from gpuc.cluster.overlays import Overlay, Overlays
from gpuc.cluster.pool_fields import BUDGETS, GRACE, LIFETIME, LIMITS, NODES, budgets
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, Amounts, amounts
from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.kubernetes.node_pool import (
    AWS,
    CAPACITY_TYPE,
    INSTANCE_TYPE,
    OFFERING_LABELS,
    WELL_KNOWN,
    is_well_known,
    normal,
)  # fmt: skip
from gpuc.kubernetes.selector import Domain, Requirement, Selector
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import EFA, GPU, RESERVED_INSTANCES
from gpuc.objects.object_set import ObjectSet

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

GPUS = ("nvidia.com/gpu", "nvidia.com/mig-", "amd.com/gpu", "gpu.intel.com/")
"""Prefixes of the resources for GPUs, MIG slices and GPU shares."""
_RESERVED = frozenset(("reserved",))


class Pool(NodeTemplate):
    """A NodePool with its node class and the NodeOverlays that apply to its nodes."""

    substrate = "eks"
    """The folder of the substrate whose DaemonSets run on the nodes."""

    kind_in_messages = "NodePool"
    type_in_messages = "instance type"
    """What messages call the pool, before its name."""

    def __init__(self, manifest: Manifest, objects: ObjectSet) -> None:
        super().__init__(manifest, objects)
        self._overlays = objects.once(Overlays)
        self._capacity: dict[str, Amounts] = {}
        self.limits = amounts(self._at(LIMITS))
        """The limits of the pool: the total resources of all nodes, and the number of nodes."""
        limit = self.limits.get(NODES)
        self.most_nodes = limit if self.replicas is None else self.replicas
        """The largest number of nodes that can run: the replicas, else the limit; None without a number."""
        self.startable = min((count for count in (self.replicas, limit) if count is not None), default=None)
        """The number of nodes up to which Karpenter starts nodes; None without a number."""
        self.is_closed = self.startable == 0
        """Whether the pool starts no nodes: the limit or the replicas are 0. Nodes from before can still run."""
        self.lifetime = str(self._at(LIFETIME) or "720h")
        """How long a node runs, or Never. The API server adds the default."""
        self.grace = str(self._at(GRACE) or "")
        """How long a node drains at most, before all its pods end; empty without a maximum."""
        self.budgets = tuple(budgets(self._at(BUDGETS)))
        """How many nodes Karpenter disrupts at a time."""
        declared = manifest.annotations.get(RESERVED_INSTANCES)
        self.reserved_nodes = int(declared) if isinstance(declared, str) and declared.isdecimal() else None
        """The declared number of instances of the capacity reservations of the pool; None if it is not declared."""

    def place(self, path: Path) -> Path:
        """Converts a path in a NodePool into a path in the object that defines the pool, perhaps of another kind."""
        return path

    def needs_reservation(self, term: Selector) -> bool:
        """Returns whether the requirements of a pod allow only reserved nodes of the pool."""
        purchase = self._purchase
        for key, domain in term:
            if normal(key) == CAPACITY_TYPE:
                purchase = purchase.meet(domain)
        is_selected = any(key in RESERVATION_LABELS and not domain.absent for key, domain in term)
        return is_selected or purchase.listed == _RESERVED

    def unknown_reservation(self, term: Selector) -> str:
        """Returns why gpuc does not know how many reserved nodes the pool has; an empty text if gpuc knows the number.

        For a pool with only reserved capacity, gpuc takes the number from the limits of the pool if the objects do not
        show a smaller number.

        Args:
            term: the requirements of pods that need reserved nodes.

        Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go, pkg/providers/instancetype/offering
        """
        for wanted in term:
            ids = self._class.reservation_ids
            is_about_all = wanted.key == RESERVATION_ID and ids and all(map(wanted.domain.allows, ids))
            if wanted.key in RESERVATION_LABELS and not wanted.domain.absent and not is_about_all:
                return f"the input does not show how many instances with {wanted} node pool {self.name} has"
        is_bounded = self._purchase.listed == _RESERVED and (self.is_static or bool(self.limits))
        if self.reserved_nodes is None and not is_bounded:
            return f"the input does not show how many reserved instances node pool {self.name} has"
        return ""

    @property
    def _purchase(self) -> Domain:
        return self.offer.get(CAPACITY_TYPE) or Domain(False, WELL_KNOWN[CAPACITY_TYPE], False)

    @cached_property
    def _names(self) -> tuple[list[str], list[str]]:
        """The instance types that the pool can certainly start, and the instance types that it can perhaps start."""
        if self._class_conflict(self.offer.items()):
            return [], []
        names: Iterable[str] = sorted(self.listed(INSTANCE_TYPE))
        if not names and self.api_group in (KARPENTER_AWS, AUTO_MODE_GROUP):
            families = self.listed(f"{AWS}instance-family")
            names = [name for name in all_types(self.catalog) if not families or name.partition(".")[0] in families]
        verdicts = {name: meets_type(self.catalog, name, self.offer) for name in names}
        known = [name for name in names if self.api_group == KARPENTER_AWS and self.catalog.instance_type(name)]
        sure = [name for name in known if verdicts[name]]
        return sure, [name for name, verdict in verdicts.items() if verdict is not False and name not in sure]

    @property
    def type_names(self) -> list[str]:
        """The instance types that the pool can start. The types for which this is uncertain are last."""
        return [*self._names[0], *self._names[1]]

    @property
    def listed_types(self) -> list[str]:
        """The instance types that the pool lists by name and can start; empty if the pool lists no names."""
        return sorted(self.listed(INSTANCE_TYPE) & set(self.type_names))

    @property
    def lists_gpus(self) -> bool:
        """Whether the requirements of the pool list an instance type with GPUs by its name, such as p5.48xlarge."""
        return any(instance.gpu for name in self.listed_types if (instance := self.catalog.instance_type(name)))

    @cached_property
    def types(self) -> "tuple[InstanceType, ...]":
        """The instance types that the pool certainly can start, and for which the catalog has data."""
        rows = (self.catalog.instance_type(name) for name in self._names[0])
        return tuple(row for row in rows if row is not None)

    @property
    def is_known(self) -> bool:
        """Whether gpuc knows with certainty all instance types that the pool can start."""
        return self.api_group == KARPENTER_AWS and not self._names[1]

    def types_for(self, term: Iterable[Requirement]) -> "list[InstanceType]":
        """Returns the instance types of the pool that certainly meet the requirements of a pod."""
        wanted = _about_types(term)
        return [row for row in self.types if not wanted or meets_type(self.catalog, row.type, {}, wanted)]

    def unsure_types_for(self, term: Iterable[Requirement]) -> list[str]:
        """Returns the instance types of which gpuc does not know whether the pool can start them for a pod."""
        wanted, (sure, unsure) = _about_types(term), self._names
        return [
            *(name for name in unsure if meets_type(self.catalog, name, {}, wanted) is not False),
            *(name for name in sure if wanted and meets_type(self.catalog, name, {}, wanted) is None),
        ]

    def values(self, key: str, names: Iterable[str]) -> set[str]:
        """Returns the values that a label has on the nodes of several instance types."""
        return {value for name in names if (value := instance_labels(self.catalog, name).get(key)) is not None}

    def min_values_message(self, names: Iterable[str]) -> str:
        """Returns a message if the instance types for a pod do not satisfy minValues; otherwise an empty text.

        Source: sigs.k8s.io/karpenter v1.14.1 pkg/cloudprovider/types.go (SatisfiesMinValues)
        """
        types = tuple(names)
        for _, key, _, _, least in () if self.is_static else self.requirements:
            if key in TYPE_LABELS and (count := len(self.values(key, types))) < least > 1:
                return f"node pool {self.name} needs {least} values of {key} (minValues), and the types have {count}"
        return ""

    def overlays(self, name: str) -> list[Overlay]:
        """Returns the NodeOverlays that apply to nodes of an instance type. The last has the highest precedence."""
        own = {key: domain for key, domain in self.offer.items() if key in self.labels or is_well_known(key)}
        of_type = instance_labels(self.catalog, name) if name else {}
        own |= {key: Domain(False, frozenset((value,)), False) for key, value in of_type.items()}
        known = {key: domain for key, domain in own.items() if key not in OFFERING_LABELS}
        return self._overlays.of(self.name, name, known)

    def hardware(self, name: str) -> Amounts:
        """Returns the resources of an instance type without NodeOverlays; empty if the type is unknown."""
        row = self.catalog.instance_type(name)
        if row is None:
            return {}
        efa = row.efa if self.efa_interfaces is None else self.efa_interfaces
        counts = {GPU: row.gpu_count, EFA: efa}
        resources = {CPU: row.vcpu * 1000, MEMORY: row.memory_mib * MIB}
        return resources | {key: count for key, count in counts.items() if count} | devices(self.catalog, name)

    def capacity(self, name: str) -> Amounts:
        """Returns the capacity of a node: the resources of the instance type, changed by NodeOverlays."""
        if name not in self._capacity:
            given = {key: value for overlay in self.overlays(name) for key, value in overlay.capacity.items()}
            self._capacity[name] = self.hardware(name) | amounts(given)
        return self._capacity[name]

    def counted(self, instance: "InstanceType") -> Amounts:
        """Returns what a new node counts against the limits of the pool: the capacity that Karpenter predicts."""
        return {**self.capacity(instance.type), MEMORY: predicted_memory(instance, self.catalog.kubelet), NODES: 1}

    def allocatable(self, instance: "InstanceType") -> Amounts:
        """Returns the allocatable resources of a node without any pods. Huge pages are subtracted from memory."""
        resources = self._class.allocatable(self.catalog, instance)
        resources |= {key: count for key, count in self.capacity(instance.type).items() if key not in (CPU, MEMORY)}
        resources[MEMORY] -= sum(count for key, count in resources.items() if key.startswith("hugepages-"))
        return resources

    def domain_nodes(self, level: str) -> int | None:
        """Returns the largest number of nodes of a static pool with the same value of a label; None if it is unknown.

        Args:
            level: the label; empty for all nodes.
        """
        return self.replicas if not level or len(self.listed(level)) == 1 else None

    def max_nodes(self, instance: "InstanceType", used: Mapping[str, int] | None = None) -> int | None:
        """Returns how many nodes of an instance type the limits of the pool allow; None without a limit.

        Args:
            used: the resources of other nodes of the pool, which count against the limits.
        """
        node, taken = self.counted(instance), used or {}
        if self.replicas is not None:
            return self.replicas - taken.get(NODES, 0)
        free = ((limit - taken.get(name, 0)) // node[name] for name, limit in self.limits.items() if node.get(name))
        return min(free, default=None)

    @cached_property
    def bounds(self) -> tuple[Amounts, ...]:
        """The largest resources that a node can have, for each instance type; empty if gpuc does not know the types.

        The amount of an absent resource is unknown. An overlay that perhaps applies can only raise an amount.
        """
        names = self.type_names
        return tuple(map(self._bound, names)) if all(map(self.hardware, names)) else ()

    def _bound(self, name: str) -> Amounts:
        resources = {NODES: 1, GPU: 0, EFA: 0, **self.hardware(name)}
        for overlay in self.overlays(name):
            for resource, count in amounts(overlay.capacity).items():
                if overlay.is_sure:
                    resources[resource] = count
                elif resource in resources:
                    resources[resource] = max(count, resources[resource])
        return resources

    @property
    def devices(self) -> set[str]:
        """The names of the extended resources and huge pages that nodes of the pool have, such as nvidia.com/gpu."""
        resources = (row for name in self.type_names for row in self.capacity(name).items())
        return {name for name, count in resources if count and ("/" in name or name.startswith("hugepages-"))}

    @property
    def gpus(self) -> set[str]:
        """The names of the GPU resources that the nodes have, for example nvidia.com/gpu."""
        return {name for node in self.bounds for name, count in node.items() if count and name.startswith(GPUS)}

    def maximum(self, resource: str, *, counts_gpus: bool = True) -> int | None:
        """Returns the largest amount of a resource that all nodes of the pool together can have; None without a limit.

        A pool with a limit of 0 nodes has no capacity for quotas: Karpenter does not replace its nodes.

        Args:
            counts_gpus: whether a node advertises the number of GPUs of its instance type. With time-slicing, a node
                advertises more, so the number of GPUs does not limit the amount.
        """
        if self.is_closed:
            return 0
        limits = self.limits if self.replicas is None else {NODES: self.replicas}
        found = [limits[resource]] if resource in limits else []
        if resource != GPU or counts_gpus:
            found += self._by_types(resource, limits)
        return min(found, default=None)

    def maximum_of_devices(self, resource: str) -> int | None:
        """Returns the result of `maximum`, or 0 for a device or for huge pages that no node of the pool has."""
        is_device = "/" in resource or resource.startswith("hugepages-")
        if is_device and self.bounds and not any(node.get(resource) for node in self.bounds):
            return 0
        return self.maximum(resource)

    def _by_types(self, resource: str, limits: Amounts) -> Iterator[int]:
        """Yields upper bounds for a resource.

        They follow from a limit of another resource, and from the instance types.
        """
        types = self.bounds
        if not types or not all(resource in node for node in types):
            return
        for limited, limit in limits.items():
            if all(node.get(limited) or not node[resource] for node in types):
                is_only = len(types) == 1
                yield max(_within_limit(node, resource, limited, limit, is_only=is_only) for node in types)


def _within_limit(node: Amounts, resource: str, limited: str, limit: int, *, is_only: bool) -> int:
    """Returns the amount of a resource in as many nodes as a limit allows.

    Args:
        limited: the resource that the limit is for.
        is_only: whether the pool has only this instance type. Nodes of several types can fill the limit more closely,
            so fractions of a node count.
    """
    if not node[resource]:
        return 0
    if is_only:
        return limit // node[limited] * node[resource]
    return limit * node[resource] // node[limited]


def _about_types(term: Iterable[Requirement]) -> list[Requirement]:
    """Returns the requirements for labels that the instance type of a node determines."""
    return [wanted for wanted in term if of_aws(wanted.key) in TYPE_LABELS]


def named(pools: Iterable[Pool]) -> str:
    """Returns a text with the kind and the names of pools, for example "NodePool train, batch"."""
    listed = list(pools)
    return f"{listed[0].kind_in_messages} {', '.join(pool.name for pool in listed)}"
