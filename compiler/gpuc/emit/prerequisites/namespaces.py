"""Namespaces of other teams whose pods connect to pods of tenants."""

from __future__ import annotations

from gpuc.emit.prerequisites.record import Chapter, Prerequisite, kubectl
from gpuc.model import Cluster


def chapter(cluster: Cluster) -> Chapter | None:
    """Returns the chapter about namespaces of other teams; None if no tenant names such a namespace."""
    paths = {caller: tenant.path for tenant in cluster.tenants for caller in tenant.caller_namespaces}
    if not paths:
        return None
    callers = sorted(paths)
    command = f"{kubectl(cluster)} get namespace {' '.join(callers)}"
    prerequisites = tuple(
        Prerequisite(
            id=f"namespace/{name}",
            what=f"the namespace `{name}`",
            reason="NetworkPolicies of tenants allow traffic from the namespace",
            checks=(command,),
            expected=name,
            path=(*paths[name], "network", "ingress"),
        )
        for name in callers
    )
    return Chapter("Namespaces of other teams", "namespaces.md.j2", prerequisites, {"callers": callers})
