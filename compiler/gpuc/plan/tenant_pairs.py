"""Pairs of tenants whose network paths open or close, in words and with their place in the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import kind_of
from gpuc.isolation.matrix import Verdict
from gpuc.kubernetes.ports import described
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised


def pairs_raised(
    change: Change,
    found: Iterable[Verdict],
    verb: str,
    place: Callable[[Verdict], Raised | None] = lambda verdict: None,
) -> Iterator[Raised]:
    """Yields an impact for each pair of tenants; one impact for both directions with the same ports.

    Args:
        verb: "can" or "can no longer".
        place: returns an impact with the object and the path of a pair, if no isolation of the spec changes; None for
            the Namespace of the server.
    """
    by_pair = {(verdict.client, verdict.server): verdict for verdict in found}
    for (client, server), verdict in by_pair.items():
        ports = described(verdict.ports)
        back = by_pair.get((server, client))
        if back is not None and described(back.ports) == ports:
            if client > server:
                continue
            subject, message = f"tenants {client} and {server}", f"their pods {verb} connect to each other on {ports}"
        else:
            subject, message = f"tenant {client}", f"its pods {verb} connect to pods of tenant {server} on {ports}"
        connection = verdict.connections[0]
        details = (f"for example from namespace {connection.client} to namespace {connection.server}",)
        raised = place(verdict) or Raised("", "", change.after.objects.find("", "Namespace", connection.server))
        raised = raised._replace(subject=subject, message=message, details=details)
        yield at_isolation(change, raised, client, server)


def at_isolation(change: Change, raised: Raised, *tenants: str) -> Raised:
    """Returns an impact at the isolation of the first of some tenants whose isolation changes in the spec."""
    for tenant in tenants:
        path: Path = ("spec", "tenants", tenant, "isolation")
        if path in change.changed_paths(*path):
            return raised._replace(manifest=None, path=path)
    return raised


def isolation_raised(change: Change, tenant: str, namespaces: Sequence[str], effect: str) -> Raised:
    """Returns an impact on the pods of namespaces of a tenant whose isolation begins or ends."""
    message = f"pods of {kind_of(namespaces, 'namespace')} {effect}"
    namespace = change.after.objects.find("", "Namespace", namespaces[0])
    return at_isolation(change, Raised(f"tenant {tenant}", message, namespace), tenant)
