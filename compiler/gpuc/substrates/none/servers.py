"""The types of servers that pools of existing nodes can have."""

from __future__ import annotations

from gpuc.catalog import Catalog
from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write

UNKNOWN_SERVER = declare_rule("NOD014", Severity.ERROR,
    "gpuc has no figures for the server of a pool of existing nodes.",
    "gpuc computes quotas and the resources of nodes from the figures. A file in specs/catalog/ can add a row with "
    "vcpu, memoryMib, and gpu and gpuCount for a server with GPUs. The name of a server has no dot.")  # fmt: skip


def refused_type(name: str, path: Path, catalog: Catalog) -> Finding | None:
    """Returns the finding about a type that is no server with figures; None for a server of the catalog."""
    servers = sorted(other for other in {**catalog.servers, **catalog.instances} if "." not in other)
    if name in servers:
        return None
    actual = f"{name} is no type of server" if "." in name else f"gpuc has no figures for server {name}"
    add = "a row in instanceTypes of a file in specs/catalog/ adds a server"
    message = f"{actual}; expected one of {', '.join(servers)}; {add}"
    return UNKNOWN_SERVER.at(path, message, fix=write(misspelt(name, servers)))
