"""Kueue's choice of a flavor for equal pods, with the words of its refusals.

Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go and tas_flavorassigner.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gpuc.kubernetes.amounts import Amounts, quantity_text
from gpuc.kubernetes.quota import Key, Node, Quota, Usage

Obstacle = Literal["resource", "unknown", "topology", "taint", "labels", "quota"]


class Flavor(NamedTuple):
    """A ResourceFlavor as some pods meet it."""

    name: str
    has_topology: bool = False
    levels: tuple[str, ...] = ()
    """Node labels of its topology's levels; empty where they are not known."""
    taint: str = ""
    """The first of its taints that the pods do not tolerate."""
    takes_labels: bool = True
    """Whether its node labels fulfil what the pods select, as far as it has them."""


class Group(NamedTuple):
    """Resources of a ClusterQueue that come from the same flavor."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


class Attempt(NamedTuple):
    """One flavor that was looked at."""

    flavor: str
    obstacle: Obstacle | None = None
    """Why it is not taken; None where the pods fit."""
    reasons: tuple[str, ...] = ()
    """In Kueue's words; what can never be had comes before what cannot be had now."""
    distance: int = 0
    """How far quota has to be borrowed; 0 is the queue's own."""


@dataclass(frozen=True)
class Queue:
    """A ClusterQueue, and what is used of its forest."""

    node: Node
    groups: Sequence[Group]
    is_all_topology: bool = False
    """Whether all of its flavors are scheduled by topology: then all of its work is, asked for or not."""
    stops_at_borrowing: bool = True
    """Whether the first flavor that fits is taken even if it borrows (flavorFungibility.whenCanBorrow)."""
    usage: Usage = field(default_factory=dict)


@dataclass
class Choice:
    """What Kueue decides about equal pods."""

    flavors: dict[str, str] = field(default_factory=dict)
    """Flavor by resource; empty where they are refused."""
    attempts: list[Attempt] = field(default_factory=list)
    """All flavors that were looked at, and resources that no flavor covers."""
    borrowed: Amounts = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The flavors that were chosen, each once."""
        return list(dict.fromkeys(self.flavors.values()))


def choose(
    queue: Queue, asked: Amounts, level: str | None, flavor: Callable[[str], Flavor | None], before: dict[Key, int]
) -> Choice:
    """The flavors of one pod set.

    Args:
        asked: what all of its pods ask for together.
        level: the node label of the topology level to be close in; "" where any will do, None where none is asked for.
        flavor: looks a flavor up by name; None where there is none.
        before: what earlier pod sets of the same work take; grows by what is chosen.
    """
    choice = Choice()
    for name, count in asked.items():
        if count and not any(name in group.resources for group in queue.groups):
            choice.attempts.append(Attempt("", "resource", (f"resource {name} unavailable in ClusterQueue",)))
    is_refused = bool(choice.attempts)
    for group in queue.groups:
        wanted = {name: count for name, count in asked.items() if name in group.resources}
        if wanted:
            best = _best(queue, group, wanted, level, flavor, before, choice.attempts)
            is_refused = is_refused or best is None
            choice.flavors |= dict.fromkeys(wanted, best.flavor if best else "")
    if is_refused:
        choice.flavors = {}
    for name, chosen in choice.flavors.items():
        key = chosen, name
        before[key] = before.get(key, 0) + asked[name]
        used = before[key] + queue.usage.get((queue.node, key), 0)
        more = used - queue.node.quotas.get(key, Quota(0)).nominal
        if more > 0:
            choice.borrowed[name] = more
    return choice


def topology_refusal(topology: str, room: int, pods: int) -> str:
    """Kueue's words where the nodes of a topology have too little room.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go
    """
    fits = f"allows to fit only {room} out of" if room else "doesn't allow to fit any of"
    return f'topology "{topology}" {fits} {pods} pod(s)'


def _best(
    queue: Queue, group: Group, wanted: Amounts, level: str | None, flavor: Callable[[str], Flavor | None],
    before: Mapping[Key, int], attempts: list[Attempt],
) -> Attempt | None:  # fmt: skip
    """The first flavor that fits without borrowing, else the one that borrows nearest, as fungibility says."""
    best: Attempt | None = None
    for name in group.flavors:
        found = flavor(name)
        if found is None:
            attempts.append(Attempt(name, "unknown", (f"flavor {name} not found",)))
            continue
        attempts.append(_mismatch(queue, found, level) or _in_quota(queue, name, wanted, before))
        last = attempts[-1]
        if last.obstacle is None:
            if best is None or last.distance < best.distance:
                best = last
            if queue.stops_at_borrowing or last.distance == 0:
                break
    return best


def _mismatch(queue: Queue, flavor: Flavor, level: str | None) -> Attempt | None:
    name = flavor.name
    if reason := _topology_mismatch(queue, flavor, level):
        return Attempt(name, "topology", (f'Flavor "{name}" {reason}',))
    if flavor.taint:
        return Attempt(name, "taint", (f"untolerated taint {flavor.taint} in flavor {name}",))
    if not flavor.takes_labels:
        return Attempt(name, "labels", (f"flavor {name} doesn't match node affinity",))
    return None


def _topology_mismatch(queue: Queue, flavor: Flavor, level: str | None) -> str:
    if level is None:
        only = flavor.has_topology and not queue.is_all_topology
        return "supports only TopologyAwareScheduling" if only else ""
    if not flavor.has_topology:
        return "does not support TopologyAwareScheduling"
    return "does not contain the requested level" if level and flavor.levels and level not in flavor.levels else ""


def _in_quota(queue: Queue, flavor: str, wanted: Amounts, before: Mapping[Key, int]) -> Attempt:
    node = queue.node
    rows = [((flavor, name), count, before.get((flavor, name), 0)) for name, count in wanted.items()]
    lacking = (*_never(node, rows), *_not_now(queue, rows))
    if lacking:
        return Attempt(flavor, "quota", lacking)
    distances = [node.distance(key, used + count, queue.usage) for key, count, used in rows]
    return Attempt(flavor, distance=max(distances, default=0))


def _never(node: Node, rows: list[tuple[Key, int, int]]) -> Iterator[str]:
    for key, count, used in rows:
        if used + count > (most := node.capacity(key)):
            asked, earlier, bound = (quantity_text(key[1], figure) for figure in (count, used, most))
            yield (
                f"insufficient quota for {key[1]} in flavor {key[0]}, previously considered podsets requests "
                f"({earlier}) + current podset request ({asked}) > maximum capacity ({bound})"
            )


def _not_now(queue: Queue, rows: list[tuple[Key, int, int]]) -> Iterator[str]:
    for key, count, used in rows if queue.usage else ():
        more = used + count - queue.node.available(key, queue.usage)
        if more > 0 and used + count <= queue.node.capacity(key):
            needed = quantity_text(key[1], more)
            yield f"insufficient unused quota for {key[1]} in flavor {key[0]}, {needed} more needed"
