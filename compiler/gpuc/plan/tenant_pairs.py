"""Pairs of tenants whose network paths open or close, in words and with their place in the spec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpuc.diagnostics.finding import Path
from gpuc.isolation.matrix import Verdict
from gpuc.kubernetes.ports import described
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised


def pairs_raised(
    change: Change, found: Iterable[Verdict], verb: str, place: Callable[[Verdict], Raised]
) -> Iterator[Raised]:
    """Yields an impact for each pair of tenants; one impact for both directions with the same ports.

    Args:
        verb: "can" or "can no longer".
        place: returns an impact with the object and the path of a pair, if no isolation of the spec changes.
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
        raised = place(verdict)
        if path := next((one for name in (client, server) if (one := isolation_path(change, name))), ()):
            raised = raised._replace(manifest=None, path=path)
        connection = verdict.connections[0]
        details = (f"for example from namespace {connection.client} to namespace {connection.server}",)
        yield raised._replace(subject=subject, message=message, details=details)


def isolation_path(change: Change, tenant: str) -> Path:
    """Returns the path of the isolation of a tenant in the spec if it changes; an empty path otherwise."""
    path: Path = ("spec", "tenants", tenant, "isolation")
    return path if any(changed.path == path for changed in change.spec_changes) else ()
