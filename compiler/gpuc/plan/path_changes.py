"""The network paths with the outside that a change opens or closes, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from gpuc.diagnostics.words import first_names, kind_of
from gpuc.kubernetes.network_policy import EGRESS
from gpuc.kubernetes.ports import Ports, described
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised
from gpuc.plan.network_paths import changes_network, isolation_that_stays, network_after, reachability, unisolated
from gpuc.plan.outside_paths import OutsidePath, outside_paths, remainder
from gpuc.plan.state import State

_PEERS = 4
"""The maximum number of peers in a message."""


def opened(change: Change) -> Iterator[Raised]:
    """Yields the paths that only the state after has.

    A path of a new namespace counts only if a namespace of the state before lacks the path: the platform opens some
    paths for all namespaces, for example to the name servers.
    """
    if not change.before.exists or not changes_network(change):
        return
    known = reachability(change.before).tenancy.tenants
    new = [path for path in outside_paths(network_after(change)) if path.namespace not in known]
    old = [path for path in outside_paths(network_after(change)) if path.namespace in known]
    found = chain(_missing(old, change.before), _unusual(new, change.before))
    yield from _grouped(found, "can")


def closed(change: Change) -> Iterator[Raised]:
    """Yields the paths that only the state before has, of namespaces that both states have.

    Namespaces that lose all connections have an impact of their own.
    """
    if change.after.exists and changes_network(change):
        cut = {name for _, names, _ in isolation_that_stays(change) for name in names}
        kept = reachability(network_after(change)).tenancy.tenants.keys() - cut
        paths = (path for path in outside_paths(change.before) if path.namespace in kept)
        yield from _grouped(_missing(paths, network_after(change)), "can no longer")


def _missing(paths: Iterable[OutsidePath], other: State) -> Iterator[OutsidePath]:
    """Yields the parts of paths that another state lacks. Pods that no policy isolates have all paths."""
    known, isolated = _by_namespace(other), unisolated(other)
    for path in paths:
        if path.namespace not in isolated[path.direction]:
            yield from remainder(path, known[path.namespace])


def _unusual(paths: Iterable[OutsidePath], before: State) -> Iterator[OutsidePath]:
    known, isolated = _by_namespace(before), unisolated(before)
    for path in paths:
        names = [name for name in known if name not in isolated[path.direction]]
        if not names or any(True for name in names for _ in remainder(path, known[name])):
            yield path


def _by_namespace(state: State) -> dict[str, list[OutsidePath]]:
    found: dict[str, list[OutsidePath]] = defaultdict(list)
    for path in outside_paths(state):
        found[path.namespace].append(path)
    return found


def _grouped(paths: Iterable[OutsidePath], verb: str) -> Iterator[Raised]:
    """Yields an impact for the paths with the same namespaces, ports and reason.

    For example "pods of namespace a can connect to 10.0.0.0/24 on TCP 443 (why: models)".
    """
    places: dict[tuple[_Group, str], dict[str, OutsidePath]] = defaultdict(dict)
    for path in paths:
        group = _Group(path.tenant, path.direction, path.ports, path.pods, path.why, ())
        for peer in path.peers:
            places[group, peer].setdefault(path.namespace, path)
    groups: dict[_Group, list[tuple[str, OutsidePath]]] = defaultdict(list)
    for (group, peer), found in places.items():
        groups[group._replace(namespaces=tuple(sorted(found)))].append((peer, next(iter(found.values()))))
    for group, rows in groups.items():
        _, first = rows[0]
        message = group.words(verb, [peer for peer, _ in rows])
        yield Raised(f"tenant {group.tenant}", message, first.manifest, first.path)


class _Group(NamedTuple):
    """What paths have in common that one message describes."""

    tenant: str
    direction: str
    ports: Ports
    pods: str
    why: str
    namespaces: tuple[str, ...]

    def words(self, verb: str, peers: list[str]) -> str:
        """Returns the paths to or from some peers in words."""
        pods = f"pods {self.pods}" if self.pods else "pods"
        action = "connect to" if self.direction == EGRESS else "get connections from"
        why = f" ({self.why})" if self.why else ""
        paths = f"{action} {first_names(peers, _PEERS)} on {described(self.ports)}{why}"
        return f"{pods} of {kind_of(self.namespaces, 'namespace')} {verb} {paths}"
