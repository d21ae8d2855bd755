"""The quotas of ClusterQueues before and after a change, in the units of the spec, for example nodes."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from msgspec import Struct

from gpuc.cluster.queue import Flavor, Member, from_model, from_objects, parent
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, Amounts
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quota import Key
from gpuc.model.units import Unit, unit_name
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.pool_sizes import pool_of
from gpuc.plan.state import State

GPU_PREFIXES = ("nvidia.com/", "amd.com/", "gpu.intel.com/")
"""The prefixes of the names of GPU resources."""


class Limits(NamedTuple):
    """The quota of a ClusterQueue on one ResourceFlavor. All amounts are in one unit, for example in nodes."""

    nominal: int
    borrow: int | None
    """The borrowing limit; None for no limit. 0 without a cohort."""
    lend: int | None
    """The lending limit; None for no limit. 0 without a cohort."""
    most: int
    """The most that the queue can use while no other queue uses its quota: nominal and borrowed quota."""


class QuotaChange(Struct, frozen=True, eq=False):
    """The quota of a ClusterQueue on one ResourceFlavor, before and after a change, counted in one unit."""

    pair: Pair
    """The ClusterQueue."""
    flavor: str
    unit: Unit
    before: Limits
    after: Limits
    path: Path
    """The path of the quota in the ClusterQueue after the change."""
    stops: bool
    """Whether the queue had quota on the flavor, and has no quota of any resource on it after the change."""
    place: str
    """The flavor in words."""

    @property
    def queue(self) -> str:
        """The name of the queue in the spec."""
        return self.pair.element

    @property
    def key(self) -> Key:
        """The ResourceFlavor and the resource that the quota limits."""
        return self.flavor, self.unit.resource

    def limit(self, field: Literal["borrow", "lend"], *, grows: bool) -> str:
        """Returns the limits after and before in words, if the limit grows (`grows`) or shrinks (not `grows`); else "".

        The limits can be compared only if the queue has a cohort and quota before and after the change.
        """
        before, after = getattr(self.before, field), getattr(self.after, field)
        less, more = (before, after) if grows else (after, before)
        is_comparable = all(parents(self.pair)) and self.before.nominal > 0 and self.after.nominal > 0
        if not is_comparable or less is None or (more is not None and less >= more):
            return ""
        return f"{self.unit.instead(before, after)} on {self.place}"

    @property
    def most_text(self) -> str:
        """A sentence with the most quota that the queue can use, nominal and borrowed, after and before the change."""
        instead = self.unit.instead(self.before.most, self.after.most)
        return f"queue {self.queue} can use {instead} on {self.place}"

    def raised(
        self, message: str, field: str, details: Iterable[str] = (), predicts: tuple[Prediction, ...] = ()
    ) -> Raised:
        """Returns an impact that is caused by one field of the quota, for example by nominalQuota."""
        return Raised(f"queue {self.queue}", message, self.pair.after, (*self.path, field), tuple(details), predicts)


@lru_cache(maxsize=2)
def quota_changes(change: Change) -> tuple[QuotaChange, ...]:
    """Returns the quotas that differ, if the ClusterQueue and the ResourceFlavor exist before and after the change.

    A quota also differs if the queue can borrow another amount, because another queue of the cohort changes.
    """
    if not any(pair.fields for kind in ("ClusterQueue", "Cohort") for pair in change.pairs(GROUP, kind)):
        return ()
    before, after = (tree(state) for state in (change.before, change.after))
    return tuple(
        quota
        for pair, flavor in common_flavors(change)
        for quota in _of_flavor(change, pair, flavor, before[pair.name], after[pair.name])
    )


def common_flavors(change: Change) -> Iterator[tuple[Pair, str]]:
    """Yields each ClusterQueue with each ResourceFlavor for which it has quota before and after the change."""
    for pair in change.kept(GROUP, "ClusterQueue"):
        old = flavors(change.before, pair.name)
        yield from ((pair, flavor) for flavor in flavors(change.after, pair.name) if flavor in old)


def loses(changes: Iterable[QuotaChange], flavor: str = "", other_than: str = "") -> tuple[str, ...]:
    """Returns a sentence for each queue whose maximum usage, with borrowed quota, becomes smaller.

    Args:
        flavor: only this ResourceFlavor; an empty string for all of them.
        other_than: the name of a ClusterQueue to leave out.
    """
    return tuple(
        quota.most_text
        for quota in changes
        if quota.after.most < quota.before.most
        and quota.after.nominal
        and flavor in ("", quota.flavor)
        and quota.pair.name != other_than
    )


def tree(state: State) -> dict[str, Member]:
    """Returns the ClusterQueues of a state by name. Each ClusterQueue knows its place in the tree of cohorts."""
    return from_objects(state.objects).by_name


def cohort_of(state: State, name: str) -> list[Member]:
    """Returns all ClusterQueues in the same tree of cohorts as a ClusterQueue; none if the ClusterQueue is missing."""
    queues = tree(state)
    return [queue for queue in queues.values() if queue.root is queues[name].root] if name in queues else []


def flavors(state: State, name: str) -> dict[str, Flavor]:
    """Returns the ResourceFlavors of a ClusterQueue by name, in their order; empty if there is no such ClusterQueue."""
    queues = tree(state)
    return queues[name].flavors if name in queues else {}


def queues(change: Change) -> dict[str, list[Pair]]:
    """Returns the ClusterQueues before and after the change, by the name of the queue in the spec."""
    return grouped(change.pairs(GROUP, "ClusterQueue"), lambda pair: pair.element)


def parents(pair: Pair) -> tuple[str, str]:
    """Returns the cohort of a ClusterQueue, or the parent of a Cohort, before and after the change; "" without one."""
    before, after = (parent(manifest)[1] if manifest else "" for manifest in (pair.before, pair.after))
    return before, after


def parent_path(pair: Pair) -> Path:
    """Returns the path of the field with the cohort of a ClusterQueue, or with the parent of a Cohort."""
    return ("spec", parent(pair.manifest)[0])


def flavor_text(change: Change, flavor: str) -> str:
    """Returns a ResourceFlavor in words: "node pool train-h100", or "flavor x" if gpuc did not emit the object."""
    pair = change.pair(GROUP, "ResourceFlavor", flavor)
    return pair.subject if pair else f"flavor {flavor}"


def pool_cause(change: Change, flavor: str, *keys: str) -> Path:
    """Returns the path of the first changed value of a node pool in the spec; empty if no value of the pool changes.

    Args:
        flavor: the ResourceFlavor, which has the name of the node pool.
        keys: only these fields of the pool; without keys, all fields except the number of nodes.
    """
    below = [path for path in change.changed_paths("spec", "pools", flavor) if len(path) > 3]
    return next((path for path in below if (path[3] in keys if keys else path[3] != "nodes")), ())


def quota_text(state: State, name: str, flavor: str) -> str:
    """Returns the nominal quota of a ClusterQueue in words: "10 nodes", or "56 1g.10gb slices and 4 GPUs"."""
    node, pool = tree(state)[name], pool_of(state.cluster, flavor)
    size = _node(state, node, flavor)
    resources = _counted([node], flavor, is_one=bool(size))
    units = [Unit(name, "nodes" if size else unit_name(pool, name), size.get(name, 1)) for name in resources]
    texts = [unit.text(unit.count(node.quotas[flavor, unit.resource].nominal)) for unit in units]
    return " and ".join(texts) or "0, because the pool is closed"


def quotas_text(change: Change, pairs: Iterable[Pair], *, after: bool) -> str:
    """Returns nominal quotas in words, "10 nodes on node pool train-h100", of the state after (`after`) or before."""
    state = change.after if after else change.before
    return "; ".join(
        f"{quota_text(state, pair.name, flavor)} on {flavor_text(change, flavor)}"
        for pair in pairs
        for flavor in flavors(state, pair.name)
    )


def _of_flavor(change: Change, pair: Pair, flavor: str, old: Member, new: Member) -> Iterator[QuotaChange]:
    states = change.before, change.after
    sizes = [_node(state, node, flavor) for state, node in zip(states, (old, new), strict=True)]
    if not all(sizes):
        sizes = [{}, {}]
    new_resources = _counted([new], flavor, is_one=False)
    stops = not new_resources and bool(_counted([old], flavor, is_one=False))
    place = flavor_text(change, flavor)
    for resource in _counted([new, old], flavor, is_one=bool(sizes[0])):
        key = flavor, resource
        pool = pool_of(states[resource in new_resources].cluster, flavor)
        unit = Unit(resource, "nodes" if sizes[0] else unit_name(pool, resource), sizes[0].get(resource, 1))
        before, after = (
            _limits(node, key, size.get(resource, 1)) for node, size in zip((old, new), sizes, strict=True)
        )
        if before != after:
            yield QuotaChange(pair, flavor, unit, before, after, new.path(key), stops, place)


def _counted(nodes: Iterable[Member], flavor: str, *, is_one: bool) -> list[str]:
    """Returns the resources whose quotas the spec sets: GPUs, slices and shares. Without GPUs: cpu, or all resources.

    Args:
        is_one: whether one resource is enough, because all quotas are multiples of a node.
    """
    names = dict.fromkeys(
        name for node in nodes for (of, name), quota in node.quotas.items() if of == flavor and quota.nominal
    )
    gpus = [name for name in names if name.startswith(GPU_PREFIXES)]
    chosen = gpus or ([CPU] if is_one and CPU in names else list(names))
    return chosen[:1] if is_one else chosen


def _limits(node: Member, key: Key, size: int) -> Limits:
    """Returns the quota of a queue in a unit that has `size` of the resource."""
    quota = node.quotas.get(key)
    if quota is None:
        return Limits(0, 0, 0, 0)
    has_cohort = bool(node.parent_name)
    counts = (None if limit is None else limit // size for limit in (quota.borrow, quota.lend))
    borrow, lend = counts if has_cohort else (0, 0)
    return Limits(quota.nominal // size, borrow, lend, max(0, node.capacity(key)) // size)


@lru_cache(maxsize=2)
def _in_spec(state: State) -> Mapping[str, Member]:
    """Returns the ClusterQueues of the spec of a state by name; none without a spec."""
    return from_model(state.cluster).by_name if state.cluster else {}


def _node(state: State, node: Member, flavor: str) -> Amounts:
    """Returns the resources of one node of a pool; empty if the spec does not set the quota of the queue in nodes."""
    of_spec = _in_spec(state).get(node.name)
    pool_quota = of_spec.pool_quotas.get(flavor) if of_spec else None
    if pool_quota is None or pool_quota.spec.nodes is None:
        return {}
    size, names = pool_quota.pool.node, _counted([node], flavor, is_one=True)
    is_whole = all(size.get(name) and node.quotas[flavor, name].nominal % size[name] == 0 for name in names)
    return size if is_whole else {}
