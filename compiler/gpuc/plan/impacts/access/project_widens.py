from collections.abc import Iterator
from typing import Any

from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.permitted import added, cluster_kinds, destinations, namespaced_kinds, sources


@impact(
    "IMP454",
    Level.NONE,
    source="argoproj/argo-cd v3.5.1 docs/user-guide/projects.md; pkg/apis/application/v1alpha1/app_project_types.go",
)
def project_widens(change: Change) -> Impacts:
    """An AppProject allows Argo CD to apply more.

    The Applications of the project can create objects of the added kinds, and objects in the added namespaces. Fewer
    denied kinds also allow more. Without a list of namespaced kinds, an AppProject allows all that it does not deny.
    """
    for pair in change.pairs("argoproj.io", "AppProject"):
        if pair.is_changed and (more := "; ".join(_added(*pair.values("spec")))):
            yield Raised(f"AppProject {pair.name}", f"allows Argo CD to apply more: {more}", pair.after, ("spec",))


def _added(before: Any, after: Any) -> Iterator[str]:
    """Yields what an AppProject allows and did not allow before, in words."""
    for noun, read in (("cluster-scoped kinds", cluster_kinds), ("kinds", namespaced_kinds)):
        if rows := list(added(read(before), read(after))):
            yield f"{noun} {', '.join(_kind(*row) for row in rows)}"
    if rows := list(added(destinations(before), destinations(after))):
        known = {cluster for cluster, _ in destinations(before).permitting}
        names = (name if cluster in known else f"{name} on {cluster}" for cluster, name in rows)
        yield f"namespaces {', '.join(names)}"
    if rows := list(added(sources(before), sources(after))):
        yield f"repositories {', '.join(url for (url,) in rows)}"


def _kind(group: str, kind: str, name: str = "*") -> str:
    return "/".join(filter(None, (group, kind))) + ("" if name == "*" else f" {name}")
