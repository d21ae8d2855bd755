"""Nodes for admitted pods: a pool that they may enter, a type that holds one, nodes enough for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import PODS, Amounts, described, places, quantity_text
from gpuc.kubernetes.selector import Requirement, Selector
from gpuc.kubernetes.toleration import Toleration, untolerated
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.objects.selectors import equal_labels, node_terms, tolerations
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.pools import NodePool

if TYPE_CHECKING:
    from gpuc.catalog.records import InstanceType

MOST_NODES = 10**9
"""As many as nobody has: of pools without a limit."""


@dataclass(frozen=True)
class Wanted:
    """What equal pods ask of nodes, with what their flavors add."""

    count: int
    pod: Amounts
    terms: tuple[Selector, ...]
    """One of them has to hold in full."""
    tolerations: tuple[Toleration, ...]


class Entry(NamedTuple):
    """A pool that may be entered, and what of it."""

    pool: NodePool
    types: tuple[InstanceType, ...]
    """Types that the pod's selectors leave."""


class Obstacle(NamedTuple):
    """Why there is no node, and the object at fault."""

    message: str
    manifest: Manifest | None
    path: Path = ()
    fix: str = ""
    """What to change, where the objects show it."""


def wanted(pod: Any, count: int, asked: Amounts, flavors: Sequence[Manifest]) -> Wanted:
    """What pods ask of nodes once they are admitted: Kueue adds the flavors' labels and tolerations."""
    specs = [dig(flavor.body, "spec") for flavor in flavors]
    labels = tuple(wanted for spec in specs for wanted in equal_labels(dig(spec, "nodeLabels")))
    taken = (tolerations(dig(spec, "tolerations")) for spec in (pod, *specs))
    terms = tuple((*term, *labels) for term in node_terms(pod))
    return Wanted(count, {**asked, PODS: 1}, terms, tuple(toleration for part in taken for toleration in part))


def entries(site: ClusterIndex, pods: Wanted) -> tuple[list[Entry], list[Obstacle]]:
    """The pools whose labels and taints let the pods in, and why others do not: the nearest misses first."""
    key = pods.terms, pods.tolerations
    if key not in site.entries:
        site.entries[key] = _entries(site, pods)
    found: tuple[list[Entry], list[Obstacle]] = site.entries[key]
    return found


def _entries(site: ClusterIndex, pods: Wanted) -> tuple[list[Entry], list[Obstacle]]:
    found, tainted = [], []
    for pool in dict.fromkeys(pool for term in pods.terms for pool in site.pool_index.near(term)):
        open_terms = [term for term in pods.terms if pool.mismatch(term) is None]
        if not open_terms:
            continue
        taint = untolerated(pool.taints, pods.tolerations)
        if taint is not None:
            message = f"node pool {pool.name} has the taint {taint}, which neither the pod nor its flavor tolerates"
            tainted.append(Obstacle(message, pool.manifest, (*_TEMPLATE, "spec", "taints", taint.index)))
            continue
        types = {each.type: each for term in open_terms for each in pool.types_for(term)}
        found.append(Entry(pool, tuple(types.values())))
    return found, tainted if found or tainted else list(islice(_strange(site, pods), _TOLD))


def _strange(site: ClusterIndex, pods: Wanted) -> Iterator[Obstacle]:
    """Pools that have no node with what the pods select; the nearest alone, those of another name last."""
    lacking = {pool: _lacking(pool, pods) for pool in site.pools}
    far = {pool: (sum(each.key in pool.labels for each in missing), len(missing)) for pool, missing in lacking.items()}
    for pool, missing in lacking.items():
        if far[pool] == min(far.values()):
            told = " and ".join(map(str, missing))
            fix = "; ".join(
                f"{each.key} can be {', '.join(found)}" for each in missing if (found := sorted(pool.listed(each.key)))
            )
            yield Obstacle(f"node pool {pool.name} has no node with {told}", pool.manifest, _LABELS, fix)


def _lacking(pool: NodePool, pods: Wanted) -> list[Requirement]:
    """What no node of a pool can fulfil of the term that comes nearest."""
    each_term = [[each for each in dict.fromkeys(term) if pool.mismatch((each,))] for term in pods.terms]
    return min(each_term, key=len, default=[])


_TOLD = 4
"""So many pools that are not meant are told of."""
_TEMPLATE: Path = ("spec", "template")
_LABELS: Path = (*_TEMPLATE, "metadata", "labels")


def holders(entry: Entry, pods: Wanted) -> dict[str, int]:
    """How many of the pods an empty node carries, by the instance types that carry any."""
    found = {each.type: places(entry.pool.room(each), pods.pod) for each in entry.types}
    return {name: count for name, count in found.items() if count}


def most_pods(entry: Entry, pods: Wanted, nodes: int | None = None) -> int:
    """How many of the pods a pool can carry at all, or so many nodes of it at most."""
    carried = holders(entry, pods)
    most = 0
    for each in entry.types:
        if each.type in carried:
            bound = [bound for bound in (entry.pool.nodes_max(each), nodes) if bound is not None]
            most = max(most, carried[each.type] * min(bound, default=MOST_NODES))
    return most


def too_small(entry: Entry, pods: Wanted) -> Obstacle:
    """Why no type of a pool holds one of the pods: the resource that the largest lacks."""
    pool = entry.pool
    if not entry.types:
        return Obstacle(f"node pool {pool.name} has no instance type that the pod selects", pool.manifest, _TEMPLATE)
    lacks = [(name, count, max(pool.room(each).get(name, 0) for each in entry.types)) for name, count in _asked(pods)]
    told = [
        f"{quantity_text(name, count)} {name}, a node leaves {quantity_text(name, max(0, most))}"
        for name, count, most in lacks
        if count > most
    ]
    types = ", ".join(each.type for each in entry.types)
    why = "; ".join(told) or f"{described(pods.pod)} at once"
    bounds = [f"{quantity_text(name, max(0, most))} {name}" for name, count, most in lacks if count > most]
    fix = f"ask for at most {', '.join(bounds)} in one pod" if bounds else "ask for less in one pod"
    return Obstacle(f"no instance type of node pool {pool.name} ({types}) holds one pod: {why}", pool.manifest, (), fix)


def _asked(pods: Wanted) -> Iterator[tuple[str, int]]:
    return ((name, count) for name, count in pods.pod.items() if count)
