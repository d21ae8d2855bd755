"""The network paths with the outside that a change opens or closes, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.network_policy import EGRESS
from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.network_paths import OutsidePath, Places, changes_network, outside_paths, reachability
from gpuc.plan.state import State

_PEERS = 4
"""The maximum number of peers in a message."""


@dataclass(frozen=True)
class PathChange:
    """Paths of some namespaces of a tenant that open or close together."""

    tenant: str
    words: str
    """The paths in words, for example "pods of namespace a can connect to 10.0.0.0/24 on TCP 443 (why: models)"."""
    manifest: Manifest
    path: Path


def opened(change: Change) -> Iterator[PathChange]:
    """Yields the paths that only the state after has."""
    if changes_network(change):
        yield from _grouped(_missing(outside_paths(change.after), outside_paths(change.before)), "can")


def closed(change: Change) -> Iterator[PathChange]:
    """Yields the paths that only the state before has, of namespaces that both states have."""
    if changes_network(change):
        lost = _missing(outside_paths(change.before), outside_paths(change.after))
        yield from _grouped(_of_namespaces(lost, change.after), "can no longer")


def _missing(some: Places, others: Places) -> Places:
    """Returns the paths of the first argument that the second argument lacks. The reason of a path does not count."""
    known = {(_without_reason(path), namespace) for path, places in others.items() for namespace in places}
    return {
        path: left
        for path, places in some.items()
        if (left := {name: place for name, place in places.items() if (_without_reason(path), name) not in known})
    }


def _of_namespaces(places: Places, state: State) -> Places:
    """Returns the paths of namespaces that the state has. A namespace without any policy has no closed path."""
    kept = set(reachability(state).tenancy.tenants)
    return {
        path: left
        for path, found in places.items()
        if (left := {name: place for name, place in found.items() if name in kept})
    }


def _without_reason(path: OutsidePath) -> tuple[str, ...]:
    return (path.tenant, path.direction, path.peer, path.ports, path.pods)


def _grouped(places: Places, verb: str) -> Iterator[PathChange]:
    """Yields the paths with the same namespaces, ports and reason together."""
    groups: dict[_Group, list[tuple[OutsidePath, Manifest, Path]]] = defaultdict(list)
    for path, found in places.items():
        manifest, field = next(iter(found.values()))
        key = _Group(path.tenant, path.direction, path.ports, path.pods, path.why, tuple(sorted(found)))
        groups[key].append((path, manifest, field))
    for group, rows in groups.items():
        _, manifest, field = rows[0]
        yield PathChange(group.tenant, group.words(verb, [path.peer for path, _, _ in rows]), manifest, field)


class _Group(NamedTuple):
    """What paths have in common that one message describes."""

    tenant: str
    direction: str
    ports: str
    pods: str
    why: str
    namespaces: tuple[str, ...]

    def words(self, verb: str, peers: list[str]) -> str:
        """Returns the paths to or from some peers in words."""
        shown = ", ".join(peers[:_PEERS]) + (f" and {len(peers) - _PEERS} more" if len(peers) > _PEERS else "")
        noun = "namespace" if len(self.namespaces) == 1 else "namespaces"
        pods = f"pods {self.pods}" if self.pods else "pods"
        action = "connect to" if self.direction == EGRESS else "get connections from"
        why = f" ({self.why})" if self.why else ""
        return f"{pods} of {noun} {', '.join(self.namespaces)} {verb} {action} {shown} on {self.ports}{why}"
