"""The result of the proof for every ordered pair of tenants: whether pods of the first can connect to the second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from enum import Enum
from itertools import permutations
from typing import NamedTuple

from gpuc.isolation.proof import Connection, Reachability
from gpuc.kubernetes.ports import Ports


class State(Enum):
    """The result for a pair of tenants."""

    BLOCKED = "blocked"
    """No pod of the first tenant can connect to a pod of the second tenant."""
    DECLARED = "declared"
    """Only connections that policies declare as exceptions are possible."""
    OPEN = "open"
    """A connection that no policy declares as an exception is possible."""


class Verdict(NamedTuple):
    """The result for one ordered pair of tenants."""

    client: str
    """The tenant whose pods open connections."""
    server: str
    """The tenant whose pods accept connections."""
    state: State
    connections: tuple[Connection, ...]
    """All possible connections; undeclared connections come first."""

    @property
    def ports(self) -> Ports:
        """The ports of the connections; for an open pair, only the ports of undeclared connections."""
        counted = [
            connection for connection in self.connections if self.state is State.DECLARED or not connection.is_declared
        ]
        return tuple(dict.fromkeys(span for connection in counted for span in connection.ports))


def verdicts(reachability: Reachability, unisolated: Collection[str] = ()) -> list[Verdict]:
    """Returns the results for all ordered pairs of tenants, sorted by the names of the tenants.

    Args:
        unisolated: tenants that the spec does not isolate. A connection between two such tenants counts as declared.
    """
    between: dict[tuple[str, str], list[Connection]] = defaultdict(list)
    owners = reachability.tenancy.tenants
    for connection in reachability.connections:
        between[owners[connection.client], owners[connection.server]].append(connection)
    results = []
    for client, server in permutations(reachability.tenancy.names, 2):
        connections = sorted(between.get((client, server), ()), key=lambda connection: connection.is_declared)
        state = State.BLOCKED
        if connections:
            is_declared = connections[0].is_declared or (client in unisolated and server in unisolated)
            state = State.DECLARED if is_declared else State.OPEN
        results.append(Verdict(client, server, state, tuple(connections)))
    return results
