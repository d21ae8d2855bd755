"""The node pools of a tree, and the overlays of their nodes, read into the values of gpuc.kubernetes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from gpuc.kubernetes import overlay
from gpuc.kubernetes.node_pool import (
    HOSTNAME,
    INSTANCE_TYPE,
    NODE_POOL,
    OF_OFFERINGS,
    WELL_KNOWN,
    Offer,
    is_well_known,
    meets,
    normal,
    offer,
)  # fmt: skip
from gpuc.kubernetes.overlay import Overlay
from gpuc.kubernetes.refused import Refused
from gpuc.kubernetes.selector import POOL_OPERATORS, Domain, Requirement, Selector, equals
from gpuc.kubernetes.toleration import Taint
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items, labels, pairs
from gpuc.objects.selectors import equal_labels, read_requirements, taints, valid_requirements

KARPENTER = "karpenter.sh"
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


class Pool:
    """A NodePool."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.name = manifest.name
        self.template = dig(manifest.body, "spec", "template", "spec")
        """What its nodes are to be, plain data of any shape."""

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels that the template gives its nodes."""
        given = labels(dig(self.manifest.body, "spec", "template", "metadata", "labels"))
        if self.node_class:
            api_group, kind, name = self.node_class
            given = {f"{api_group}/{kind.lower()}": name, **given}
        return {**given, NODE_POOL: self.name}

    @cached_property
    def node_class(self) -> tuple[str, str, str] | None:
        """API group, kind and name of its node class; None where it does not name one."""
        api_group, kind, name = (dig(self.template, "nodeClassRef", key) for key in ("group", "kind", "name"))
        texts = isinstance(api_group, str) and isinstance(kind, str) and isinstance(name, str)
        return (api_group, kind, name) if texts else None

    @cached_property
    def offer(self) -> Offer:
        """Values of every label that the pool gives or restricts."""
        own = valid_requirements(dig(self.template, "requirements"), POOL_OPERATORS)
        return offer([*(equals(key, value) for key, value in self.labels.items()), *own])

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints that stay."""
        return taints(dig(self.template, "taints"))

    @cached_property
    def startup_taints(self) -> tuple[Taint, ...]:
        """Taints that an agent has to take away before any pod starts."""
        return taints(dig(self.template, "startupTaints"))

    @cached_property
    def replicas(self) -> int | None:
        """Nodes that always exist; None where nodes come when pods wait for them."""
        found = dig(self.manifest.body, "spec", "replicas")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def listed(self, key: str) -> frozenset[str]:
        """The values of a label that the pool lists; none where it lists none."""
        known = self.offer.get(key)
        return known.listed or frozenset() if known else frozenset()

    def requirement_index(self, key: str) -> int | None:
        """The place of the first requirement of a label; None where it is not among them."""
        rows = items(dig(self.template, "requirements"))
        return next((number for number, row in rows if normal(str(dig(row, "key"))) == key), None)

    def mismatch(self, term: Iterable[Requirement]) -> Requirement | None:
        """The first requirement of a pod that no node of it can meet."""
        is_static = self.replicas is not None
        return next((wanted for wanted in term if not meets(self.offer, wanted, is_static=is_static)), None)

    def takes(self, instance_labels: Mapping[str, str]) -> bool:
        """Whether it may start an instance type with these labels."""
        return all(self.offer[key].holds(value) for key, value in instance_labels.items() if key in self.offer)


P = TypeVar("P", bound=Pool)


class PoolIndex(Generic[P]):
    """Node pools by the labels that their nodes have."""

    def __init__(self, pools: Iterable[P]) -> None:
        self.pools = tuple(pools)
        self.values: dict[str, dict[str, list[P]]] = {}
        """Pools by every value of every label that they list."""
        self._unlisted: dict[str, list[P]] = {}
        for pool in self.pools:
            for key, domain in pool.offer.items():
                for value in domain.listed or ():
                    self.values.setdefault(key, {}).setdefault(value, []).append(pool)

    def candidates(self, term: Iterable[Requirement]) -> Sequence[P]:
        """Pools among which all are that can meet a pod's requirements: those that no listed label excludes."""
        best: Sequence[P] = self.pools
        for wanted, domain in term:
            key = normal(wanted)
            if domain.listed is None or key not in self.values:
                continue
            if key not in self._unlisted:
                self._unlisted[key] = [pool for pool in self.pools if not pool.listed(key)]
            named = [pool for value in sorted(domain.listed) for pool in self.values[key].get(value, ())]
            left = [*dict.fromkeys(named), *self._unlisted[key]]
            best = left if len(left) < len(best) else best
        return best

    def giving(self, key: str, value: str) -> list[P]:
        """Pools whose nodes can have a label."""
        return self.meeting((equals(key, value),))

    def matching(self, wanted: Any) -> list[P]:
        """Pools whose nodes can have all labels of a map."""
        return self.meeting(equal_labels(wanted))

    def meeting(self, term: Selector) -> list[P]:
        """Pools whose nodes can meet all requirements of a pod."""
        return [pool for pool in self.candidates(term) if pool.mismatch(term) is None]

    @cached_property
    def keys(self) -> set[str]:
        """Every label that a pool names, or that nodes have anyway."""
        return {*(key for pool in self.pools for key in pool.offer), *WELL_KNOWN, HOSTNAME}


class Nodes(PoolIndex[Pool]):
    """The node pools of a tree."""

    def __init__(self, tree: ObjectSet) -> None:
        super().__init__(Pool(manifest) for manifest in tree.of(KARPENTER, "NodePool"))
        self.are_all = tree.is_complete or not any((group(manifest), manifest.kind) in _OTHER_NODES for manifest in tree.manifests)
        """Whether nothing else in the tree makes nodes."""


class GivenOverlay(NamedTuple):
    """An overlay that applies to the nodes of an instance type."""

    value: Overlay
    manifest: Manifest
    is_sure: bool
    """Whether it applies for certain, and not only as far as the labels of the nodes are known."""


class Overlays:
    """The NodeOverlays of a tree that the API server takes, by the pools and types that they name."""

    def __init__(self, tree: ObjectSet) -> None:
        self._named: dict[tuple[str, str], list[tuple[Overlay, Manifest]]] = {}
        for manifest in tree.of(KARPENTER, "NodeOverlay"):
            try:
                read = _overlay(manifest)
            except Refused:
                continue
            wanted = offer(read.requirements)
            key = next((key for key in (NODE_POOL, INSTANCE_TYPE) if key in wanted and wanted[key].listed), "")
            for value in wanted[key].values if key else ("",):
                self._named.setdefault((key, value), []).append((read, manifest))

    def of(self, pool: Pool, name: str, instance_labels: Mapping[str, str]) -> list[GivenOverlay]:
        """The overlays that apply to a pool's nodes of an instance type, the one that counts first."""
        near = (
            entry
            for key in ((NODE_POOL, pool.name), (INSTANCE_TYPE, name), ("", ""))
            for entry in self._named.get(key, ())
        )
        own = {key: domain for key, domain in pool.offer.items() if key in pool.labels or is_well_known(key)}
        own |= {key: Domain(False, frozenset((value,)), False) for key, value in instance_labels.items()}
        known = {key: domain for key, domain in own.items() if key not in OF_OFFERINGS}
        given = [
            GivenOverlay(read, manifest, verdict is True)
            for read, manifest in near
            if (verdict := overlay.applies(read, known)) is not False
        ]
        return sorted(given, key=lambda entry: overlay.precedence(entry.value), reverse=True)


def _overlay(manifest: Manifest) -> Overlay:
    spec = manifest.body.get("spec")
    weight = dig(spec, "weight")
    wanted = read_requirements(dig(spec, "requirements"), POOL_OPERATORS)
    return Overlay(manifest.name, weight if isinstance(weight, int) else 0, wanted, dict(pairs(dig(spec, "capacity"))))
