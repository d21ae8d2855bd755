"""Chooses ResourceFlavors for the pods of a workload in the same way as Kueue, with Kueue's messages about refusals.

Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go and tas_flavorassigner.go
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from msgspec import Struct, field

from gpuc.kubernetes.amounts import Amounts, quantity_text
from gpuc.kubernetes.quota import Key, Node, Quota, Usage

RefusedBy = Literal["resource", "unknown", "topology", "taint", "labels", "quota"]


class Flavor(NamedTuple):
    """A ResourceFlavor, compared with the pods of one pod set. A pod set is a group of equal pods in a workload."""

    name: str
    has_topology: bool = False
    levels: tuple[str, ...] = ()
    """The node labels of the topology's levels; empty if the levels are unknown."""
    taint: str = ""
    """The first taint that the pods do not tolerate; empty if the pods tolerate all taints."""
    matches_selector: bool = True
    """Whether the node labels of the flavor match the node selector of the pods."""


class Group(NamedTuple):
    """A resource group of a ClusterQueue. Kueue chooses one flavor for all resources of the group."""

    resources: frozenset[str]
    flavors: tuple[str, ...]


class Attempt(NamedTuple):
    """Kueue's decision whether the pods of a pod set can use one flavor."""

    flavor: str
    refused_by: RefusedBy | None = None
    """The reason why Kueue does not use the flavor; None if the pods fit."""
    reasons: tuple[str, ...] = ()
    """Kueue's messages; permanent reasons come before temporary reasons."""
    distance: int = 0
    """The number of cohort levels up to which quota is borrowed; 0 if the queue's own quota is enough."""


class Queue(Struct, frozen=True):
    """A ClusterQueue, with the quota that workloads use already."""

    node: Node
    groups: Sequence[Group]
    is_all_topology: bool = False
    """Whether all flavors of the queue have a topology. Then Kueue uses the topology for all Workloads of the queue."""
    stops_at_borrowing: bool = True
    """Whether Kueue uses the first flavor that fits, even with borrowed quota (flavorFungibility.whenCanBorrow)."""
    usage: Usage = field(default_factory=dict)


class Choice(Struct):
    """The ResourceFlavors that Kueue chooses for the pods of one pod set, a group of equal pods in a workload."""

    flavors: dict[str, str] = field(default_factory=dict)
    """Flavors by resource; empty if Kueue refuses the pods, and for pods without requests."""
    attempts: list[Attempt] = field(default_factory=list)
    """All tested flavors, and the resources that no flavor covers."""
    borrowed: Amounts = field(default_factory=dict)
    """The borrowed amounts by resource."""
    is_refused: bool = False
    """Whether Kueue refuses the pods. Pods without requests have no flavors, and Kueue does not refuse them."""

    @property
    def names(self) -> list[str]:
        """The names of the chosen flavors, without duplicates."""
        return list(dict.fromkeys(self.flavors.values()))


def choose(
    queue: Queue, requests: Amounts, level: str | None, flavor: Callable[[str], Flavor | None], used: dict[Key, int]
) -> Choice:
    """Chooses the flavors for one pod set, and adds the requests of the pod set to `used`.

    Args:
        requests: the requests of all pods of the set together.
        level: the node label of the requested topology level; the empty string for any level, None without a topology
            request.
        flavor: returns the flavor with a name; None if the flavor does not exist.
        used: the usage of earlier pod sets of the same Workload.
    """
    choice = Choice()
    for name, count in requests.items():
        if count and not any(name in group.resources for group in queue.groups):
            choice.attempts.append(Attempt("", "resource", (f"resource {name} unavailable in ClusterQueue",)))
    choice.is_refused = bool(choice.attempts)
    for group in queue.groups:
        wanted = {name: count for name, count in requests.items() if name in group.resources}
        if wanted:
            best = _best(queue, group, wanted, level, flavor, used, choice.attempts)
            choice.is_refused = choice.is_refused or best is None
            choice.flavors |= dict.fromkeys(wanted, best.flavor if best else "")
    if choice.is_refused:
        choice.flavors = {}
    for name, chosen in choice.flavors.items():
        key = chosen, name
        used[key] = used.get(key, 0) + requests[name]
        usage = used[key] + queue.usage.get((queue.node, key), 0)
        more = usage - queue.node.quotas.get(key, Quota(0)).nominal
        if more > 0:
            choice.borrowed[name] = more
    return choice


def topology_refusal(topology: str, fitting: int, pods: int) -> str:
    """Returns Kueue's message if the nodes of a topology have no space for the pods.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go
    """
    fits = f"allows to fit only {fitting} out of" if fitting else "doesn't allow to fit any of"
    return f'topology "{topology}" {fits} {pods} pod(s)'


def _best(
    queue: Queue, group: Group, wanted: Amounts, level: str | None, flavor: Callable[[str], Flavor | None],
    used: Mapping[Key, int], attempts: list[Attempt],
) -> Attempt | None:  # fmt: skip
    """Returns the first flavor that fits without borrowing; otherwise the flavor with the smallest distance."""
    best: Attempt | None = None
    for name in group.flavors:
        candidate = flavor(name)
        if candidate is None:
            attempts.append(Attempt(name, "unknown", (f"flavor {name} not found",)))
            continue
        attempts.append(_mismatch(queue, candidate, level) or _in_quota(queue, name, wanted, used))
        last = attempts[-1]
        if last.refused_by is None:
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
    if not flavor.matches_selector:
        return Attempt(name, "labels", (f"flavor {name} doesn't match node affinity",))
    return None


def _topology_mismatch(queue: Queue, flavor: Flavor, level: str | None) -> str:
    if level is None:
        only = flavor.has_topology and not queue.is_all_topology
        return "supports only TopologyAwareScheduling" if only else ""
    if not flavor.has_topology:
        return "does not support TopologyAwareScheduling"
    return "does not contain the requested level" if level and flavor.levels and level not in flavor.levels else ""


def _in_quota(queue: Queue, flavor: str, wanted: Amounts, used: Mapping[Key, int]) -> Attempt:
    node = queue.node
    rows = [((flavor, name), count, used.get((flavor, name), 0)) for name, count in wanted.items()]
    reasons = (*_over_capacity(node, rows), *_over_unused_quota(queue, rows))
    if reasons:
        return Attempt(flavor, "quota", reasons)
    distances = [node.distance(key, before + count, queue.usage) for key, count, before in rows]
    return Attempt(flavor, distance=max(distances, default=0))


def _over_capacity(node: Node, rows: list[tuple[Key, int, int]]) -> Iterator[str]:
    for key, count, before in rows:
        if before + count > (most := node.capacity(key)):
            current, earlier, capacity = (quantity_text(key[1], number) for number in (count, before, most))
            yield (
                f"insufficient quota for {key[1]} in flavor {key[0]}, previously considered podsets requests "
                f"({earlier}) + current podset request ({current}) > maximum capacity ({capacity})"
            )


def _over_unused_quota(queue: Queue, rows: list[tuple[Key, int, int]]) -> Iterator[str]:
    for key, count, before in rows if queue.usage else ():
        more = before + count - queue.node.available(key, queue.usage)
        if more > 0 and before + count <= queue.node.capacity(key):
            needed = quantity_text(key[1], more)
            yield f"insufficient unused quota for {key[1]} in flavor {key[0]}, {needed} more needed"
