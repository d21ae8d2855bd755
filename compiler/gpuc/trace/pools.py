"""A node pool as its NodePool, node class and overlays say: which nodes it makes, and what these leave to pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuc.catalog import load
from gpuc.kubernetes.amounts import CPU, PODS, Amounts, amounts
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.machine import EFA, GPU, allocatable, overhead
from gpuc.trace.matching import (
    Requirement,
    Taint,
    exact,
    node_terms,
    requirements,
    taints,
    tolerations_of,
    untolerated,
)
from gpuc.trace.work import requests

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

INSTANCE_TYPE = "node.kubernetes.io/instance-type"
POOL = "karpenter.sh/nodepool"
_PROVIDER = "karpenter.k8s.aws/"
_WELL_KNOWN = frozenset(
    (
        "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "karpenter.sh/capacity-type",
        "kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/windows-build", INSTANCE_TYPE, POOL,
    )
)  # fmt: skip
"""Labels that Karpenter and its provider set on nodes: a pool need not name them."""
_LATER = ("nvidia.com/", "feature.node.kubernetes.io/", "topology.k8s.aws/", "kubernetes.io/hostname")
"""Beginnings of labels that nodes get once they run: nodes that exist may have them, none is started for them."""


class NodePool:
    """One NodePool with all that the tree says of its nodes."""

    def __init__(
        self,
        manifest: Manifest,
        node_class: Manifest | None,
        overlays: Sequence[Manifest],
        daemonsets: Sequence[Manifest],
        charts: frozenset[str],
    ) -> None:
        self.manifest = manifest
        self.name = manifest.name
        self.node_class = node_class
        self._overlays = overlays
        self._daemonsets = daemonsets
        self._charts = charts
        self._template = dig(manifest.body, "spec", "template", "spec")
        self._rooms: dict[str, Amounts] = {}

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels that the template gives its nodes."""
        found = dig(self.manifest.body, "spec", "template", "metadata", "labels")
        return {**{str(key): str(value) for key, value in pairs(found)}, POOL: self.name}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that stay, and keep pods off that do not tolerate them."""
        return tuple(taints(dig(self._template, "taints")))

    @cached_property
    def startup_taints(self) -> tuple[Taint, ...]:
        """Taints that somebody has to take away before any pod starts."""
        return tuple(taints(dig(self._template, "startupTaints")))

    @property
    def replicas(self) -> int | None:
        """Nodes that always exist; None where nodes come when pods wait for them."""
        found = dig(self.manifest.body, "spec", "replicas")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @cached_property
    def limits(self) -> Amounts:
        """How far it grows, by resource of its nodes' capacity, and by nodes."""
        return amounts(dig(self.manifest.body, "spec", "limits"))

    @cached_property
    def types(self) -> tuple[InstanceType, ...]:
        """The instance types of the catalog that it may start."""
        return tuple(self._types())

    @cached_property
    def is_known(self) -> bool:
        """Whether the catalog has every type that it may start: what none of them holds, no node of it does."""
        catalog = load().instances
        named = [each.values for each in self._requirements if each.key == INSTANCE_TYPE and each.operator == "In"]
        return bool(named) and all(name in catalog for name in named[0])

    def mismatch(self, term: Iterable[Requirement]) -> Requirement | None:
        """The first requirement of a pod that no node of it can fulfil."""
        return next((each for each in term if not self._offers(each)), None)

    def offered(self, key: str) -> tuple[str, ...]:
        """The values that a label of its nodes can have, as far as it names them."""
        named = [each.values for each in self._requirements if each.key == key and each.operator == "In"]
        return (self.labels[key],) if key in self.labels else (named[0] if named else ())

    def types_for(self, term: Iterable[Requirement]) -> list[InstanceType]:
        """Its types that a pod's requirements leave."""
        wanted = list(term)
        return [each for each in self.types if _is_type(each, wanted)]

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

    @cached_property
    def _requirements(self) -> tuple[Requirement, ...]:
        return requirements(dig(self._template, "requirements"))

    def _types(self) -> Iterator[InstanceType]:
        catalog = load().instances
        named = [each.values for each in self._requirements if each.key == INSTANCE_TYPE and each.operator == "In"]
        chosen = [catalog[name] for name in named[0] if name in catalog] if named else list(catalog.values())
        wanted = [*self._requirements, *exact(dig(self.manifest.body, "spec", "template", "metadata", "labels"))]
        return (each for each in chosen if _is_type(each, wanted))

    def _offers(self, wanted: Requirement) -> bool:
        """Source: sigs.k8s.io/karpenter v1.14.1 pkg/scheduling/requirements.go, Compatible."""
        own = self.labels.get(wanted.key)
        if own is not None:
            return wanted.takes(own)
        mine = [each for each in self._requirements if each.key == wanted.key]
        listed = [each.values for each in mine if each.operator == "In"]
        if listed:
            return any(wanted.takes(value) and all(each.takes(value) for each in mine) for value in listed[0])
        if mine:
            return wanted.operator != "DoesNotExist"
        if wanted.key in _WELL_KNOWN or wanted.key.startswith(_PROVIDER):
            return wanted.operator != "DoesNotExist"
        if self.replicas is not None and wanted.key.startswith(_LATER):
            return True
        return wanted.takes(None)

    def _capacity(self, instance: InstanceType) -> Amounts:
        """What a node has before anything is taken off it: EC2's figures, then what overlays say."""
        interfaces = dig(self.node_class.body if self.node_class else None, "spec", "networkInterfaces")
        listed = sum(dig(each, "interfaceType") == "efa-only" for _, each in items(interfaces))
        found = {CPU: instance.vcpu * 1000, "memory": instance.memory_mib * 2**20}
        pieces = {GPU: instance.gpu_count, EFA: listed if isinstance(interfaces, list) else instance.efa}
        return found | {name: count for name, count in pieces.items() if count} | self._overlaid(instance)

    def _overlaid(self, instance: InstanceType) -> Amounts:
        """Capacity by the overlays that name the pool's nodes of a type, the heaviest before others."""
        found: Amounts = {}
        for each in self._own_overlays:
            asked = requirements(dig(each.body, "spec", "requirements"))
            if _is_type(instance, asked):
                found = amounts(dig(each.body, "spec", "capacity")) | found
        return found

    @cached_property
    def _own_overlays(self) -> list[Manifest]:
        fitting = [
            each
            for each in self._overlays
            if self.mismatch(requirements(dig(each.body, "spec", "requirements"))) is None
        ]
        return sorted(fitting, key=lambda each: -_weight(each))

    def _room(self, instance: InstanceType) -> Amounts:
        spec = dig(self.node_class.body if self.node_class else None, "spec")
        found = allocatable(instance, spec) | {
            name: count for name, count in self._capacity(instance).items() if name not in (CPU, "memory")
        }
        huge = sum(count for name, count in found.items() if name.startswith("hugepages-"))
        found["memory"] -= huge
        has_efa = bool(found.get(EFA)) and isinstance(dig(spec, "networkInterfaces"), list)
        taken = overhead(instance, has_efa, self._charts)
        for each in self._daemons:
            asked = requests(each)
            taken = {name: taken.get(name, 0) + asked.get(name, 0) for name in {**taken, **asked}}
            taken[PODS] += 1
        return {name: count - taken.get(name, 0) for name, count in found.items()}

    @cached_property
    def _daemons(self) -> list[Any]:
        """Pod specs of the tree's DaemonSets that land on its nodes."""
        pods = [dig(each.body, "spec", "template", "spec") for each in self._daemonsets]
        return [
            pod
            for pod in pods
            if any(self.mismatch(term) is None for term in node_terms(pod))
            and untolerated(self.taints, tolerations_of(dig(pod, "tolerations"))) is None
        ]


def _is_type(instance: InstanceType, wanted: Iterable[Requirement]) -> bool:
    """Whether an instance type fulfils requirements, as far as they are about types."""
    labels = _labels(instance)
    return all(each.takes(labels[each.key]) for each in wanted if each.key in labels)


def _labels(instance: InstanceType) -> dict[str, str]:
    """Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go."""
    labels = {
        INSTANCE_TYPE: instance.type,
        "kubernetes.io/arch": instance.arch,
        f"{_PROVIDER}instance-family": instance.family,
        f"{_PROVIDER}instance-size": instance.type.partition(".")[2],
        f"{_PROVIDER}instance-cpu": str(instance.vcpu),
        f"{_PROVIDER}instance-memory": str(instance.memory_mib),
    }
    if instance.gpu and instance.gpu_count:
        labels[f"{_PROVIDER}instance-gpu-name"] = load().gpus[instance.gpu].karpenter_name
        labels[f"{_PROVIDER}instance-gpu-count"] = str(instance.gpu_count)
    return labels


def _weight(overlay: Manifest) -> int:
    found = dig(overlay.body, "spec", "weight")
    return found if isinstance(found, int) else 0
