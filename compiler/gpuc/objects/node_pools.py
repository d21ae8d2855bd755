"""Reads NodePool and NodeOverlay objects of Karpenter, and finds the node pools that meet the requirements of pods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from gpuc.kubernetes import overlay
from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.kubernetes.invalid import Invalid
from gpuc.kubernetes.node_pool import (
    HOSTNAME,
    INSTANCE_TYPE,
    NODE_POOL,
    OFFERING_LABELS,
    WELL_KNOWN,
    Offer,
    is_well_known,
    meets,
    normal,
    offer,
)  # fmt: skip
from gpuc.kubernetes.overlay import Overlay
from gpuc.kubernetes.selector import POOL_OPERATORS, Domain, Requirement, Selector, equals
from gpuc.kubernetes.toleration import Taint
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels, pairs
from gpuc.objects.selectors import equal_labels, read_requirements, taints, valid_requirements

_OTHER_NODES = frozenset(
    (
        ("", "Node"),
        ("cluster.x-k8s.io", "MachineDeployment"),
        ("cluster.x-k8s.io", "MachinePool"),
        ("eks.aws.upbound.io", "NodeGroup"),
        ("eks.services.k8s.aws", "Nodegroup"),
        ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"),
        ("machine.openshift.io", "MachineSet"),
    )
)
_SIMULATED = {f"{KARPENTER}/registered": "true", f"{KARPENTER}/initialized": "true"}
"""Labels that Karpenter gives to all nodes, and assumes when it schedules pods.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go
"""


class Pool:
    """A Karpenter NodePool."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.name = manifest.name
        self.template = dig(manifest.body, "spec", "template", "spec")
        """The spec of the node template as in the object, unvalidated."""

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels of all nodes of the pool, with the labels that Karpenter adds for the pool and the node class."""
        own = labels(dig(self.manifest.body, "spec", "template", "metadata", "labels"))
        if self.node_class:
            api_group, kind, name = self.node_class
            own = {f"{api_group}/{kind.lower()}": name, **own}
        return {**own, NODE_POOL: self.name}

    @cached_property
    def node_class(self) -> tuple[str, str, str] | None:
        """The API group, kind and name of the node class; None if the reference is incomplete."""
        api_group, kind, name = (dig(self.template, "nodeClassRef", key) for key in ("group", "kind", "name"))
        texts = isinstance(api_group, str) and isinstance(kind, str) and isinstance(name, str)
        return (api_group, kind, name) if texts else None

    @cached_property
    def offer(self) -> Offer:
        """The possible values of the node labels that the pool sets or restricts."""
        own = valid_requirements(dig(self.template, "requirements"), POOL_OPERATORS)
        added = {**_SIMULATED, **self.labels}
        return offer([*(equals(key, value) for key, value in added.items()), *own])

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The permanent taints of the nodes."""
        return taints(dig(self.template, "taints"))

    @cached_property
    def startup_taints(self) -> tuple[Taint, ...]:
        """The taints that keep pods off until an agent removes the taints."""
        return taints(dig(self.template, "startupTaints"))

    @cached_property
    def replicas(self) -> int | None:
        """The number of nodes of a static node pool; None for a pool that starts nodes for pending pods."""
        replicas = dig(self.manifest.body, "spec", "replicas")
        return replicas if isinstance(replicas, int) and not isinstance(replicas, bool) else None

    def listed(self, key: str) -> frozenset[str]:
        """Returns the values that the pool lists for a label; empty if the pool lists no values."""
        known = self.offer.get(key)
        return known.listed or frozenset() if known else frozenset()

    def requirement_index(self, key: str) -> int | None:
        """Returns the index of the first requirement for a label; None without a requirement for the label."""
        rows = items(dig(self.template, "requirements"))
        return next((number for number, row in rows if normal(str(dig(row, "key"))) == key), None)

    def mismatch(self, term: Iterable[Requirement]) -> Requirement | None:
        """Returns the first requirement that no node of the pool can meet; None without such a requirement."""
        return self.unmet(term, exists=self.replicas is not None)

    def unmet(self, term: Iterable[Requirement], *, exists: bool) -> Requirement | None:
        """Returns the result of mismatch for nodes that start for the pods, or that exist before the pods."""
        api_group = self.node_class[0] if self.node_class else ""
        return next(
            (wanted for wanted in term if not meets(self.offer, wanted, is_static=exists, api_group=api_group)), None
        )

    @cached_property
    def min_values(self) -> dict[str, int]:
        """The minimum number of values of a label among the instance types for a node, by label key."""
        rows = [(dig(row, "key"), dig(row, "minValues")) for _, row in items(dig(self.template, "requirements"))]
        return {normal(str(key)): least for key, least in rows if isinstance(least, int) and least > 1}

    def can_start(self, instance_labels: Mapping[str, str]) -> bool:
        """Returns whether the pool can start nodes of an instance type with the given labels."""
        return all(self.offer[key].allows(value) for key, value in instance_labels.items() if key in self.offer)


P = TypeVar("P", bound=Pool)


class PoolIndex(Generic[P]):
    """Node pools, indexed by the labels of their nodes."""

    def __init__(self, pools: Iterable[P]) -> None:
        self.pools = tuple(pools)
        self.values: dict[str, dict[str, list[P]]] = {}
        """Pools by label key and listed value."""
        self._unlisted: dict[str, list[P]] = {}
        for pool in self.pools:
            for key, domain in pool.offer.items():
                for value in domain.listed or ():
                    self.values.setdefault(key, {}).setdefault(value, []).append(pool)

    def candidates(self, term: Iterable[Requirement]) -> Sequence[P]:
        """Returns the pools that may meet the requirements of a pod.

        The result excludes pools that list only other values of a label. `mismatch` decides about the returned pools.
        """
        fewest: Sequence[P] = self.pools
        for wanted, domain in term:
            key = normal(wanted)
            if domain.listed is None or key not in self.values:
                continue
            if key not in self._unlisted:
                self._unlisted[key] = [pool for pool in self.pools if not pool.listed(key)]
            named = [pool for value in sorted(domain.listed) for pool in self.values[key].get(value, ())]
            possible = [*dict.fromkeys(named), *self._unlisted[key]]
            fewest = possible if len(possible) < len(fewest) else fewest
        return fewest

    def giving(self, key: str, value: str) -> list[P]:
        """Returns the pools whose nodes can have a label with the given value."""
        return self.meeting((equals(key, value),))

    def matching(self, wanted: Any) -> list[P]:
        """Returns the pools whose nodes can have all labels of a map."""
        return self.meeting(equal_labels(wanted))

    def meeting(self, term: Selector) -> list[P]:
        """Returns the pools whose nodes can meet all requirements of a pod."""
        return [pool for pool in self.candidates(term) if pool.mismatch(term) is None]

    @cached_property
    def keys(self) -> set[str]:
        """The keys of all labels that any pool sets or restricts, or that all nodes have."""
        return {*(key for pool in self.pools for key in pool.offer), *WELL_KNOWN, HOSTNAME}


class Nodes(PoolIndex[Pool]):
    """The NodePools of an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        super().__init__(Pool(manifest) for manifest in objects.of(KARPENTER, "NodePool"))
        self.is_complete = objects.is_complete or not has_other_nodes(objects)
        """Whether all nodes come from NodePools: no object of another kind creates nodes."""


def has_other_nodes(objects: ObjectSet) -> bool:
    """Returns whether objects of other kinds than NodePool create nodes."""
    return any((group(manifest), manifest.kind) in _OTHER_NODES for manifest in objects.manifests)


class AppliedOverlay(NamedTuple):
    """An overlay that applies to the nodes of an instance type."""

    value: Overlay
    manifest: Manifest
    is_sure: bool
    """Whether the overlay certainly applies; False if the answer depends on unknown labels."""


class Overlays:
    """The valid NodeOverlays of an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        self.catalog = objects.catalog
        self._by_selection: dict[tuple[str, str], list[tuple[Overlay, Manifest]]] = {}
        """Overlays by a label key and a value that the overlay selects; by empty strings without such a label."""
        for manifest in objects.of(KARPENTER, "NodeOverlay"):
            try:
                current = _overlay(manifest)
            except Invalid:
                continue
            wanted = offer(current.requirements)
            key = next((key for key in (NODE_POOL, INSTANCE_TYPE) if key in wanted and wanted[key].listed), "")
            for value in wanted[key].values if key else ("",):
                self._by_selection.setdefault((key, value), []).append((current, manifest))

    def of(self, pool: Pool, name: str, instance_labels: Mapping[str, str]) -> list[AppliedOverlay]:
        """Returns the overlays that apply to nodes of a pool and an instance type, the highest precedence first.

        Args:
            name: the name of the instance type.
            instance_labels: the labels of the instance type.
        """
        candidates = (
            candidate
            for key in ((NODE_POOL, pool.name), (INSTANCE_TYPE, name), ("", ""))
            for candidate in self._by_selection.get(key, ())
        )
        own = {key: domain for key, domain in pool.offer.items() if key in pool.labels or is_well_known(key)}
        own |= {key: Domain(False, frozenset((value,)), False) for key, value in instance_labels.items()}
        known = {key: domain for key, domain in own.items() if key not in OFFERING_LABELS}
        applied = [
            AppliedOverlay(candidate, manifest, does_apply is True)
            for candidate, manifest in candidates
            if (does_apply := overlay.applies(candidate, known)) is not False
        ]
        return sorted(applied, key=lambda item: overlay.precedence(item.value), reverse=True)


def _overlay(manifest: Manifest) -> Overlay:
    spec = manifest.body.get("spec")
    weight = dig(spec, "weight")
    wanted = read_requirements(dig(spec, "requirements"), POOL_OPERATORS)
    return Overlay(manifest.name, weight if isinstance(weight, int) else 0, wanted, dict(pairs(dig(spec, "capacity"))))
