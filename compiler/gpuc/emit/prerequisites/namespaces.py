"""The namespaces of other teams whose pods connect to pods of tenants."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Row, written
from gpuc.model import Cluster


def namespaces(cluster: Cluster) -> Chapter:
    """Returns the chapter about namespaces of other teams whose pods connect to pods of tenants."""
    paths = {caller: tenant.path for tenant in cluster.tenants for caller in tenant.caller_namespaces}
    callers = sorted(paths)
    rows: list[Row] = [
        ("namespace", (*paths[name], "network", "ingress"), {"name": name, "all": " ".join(callers)})
        for name in callers
    ]
    return written(cluster, "namespaces", "Namespaces of other teams", rows, callers=callers)
