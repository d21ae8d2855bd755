from collections.abc import Iterator

from gpuc.cluster.application import ARGO
from gpuc.cluster.project import Project, added_destinations, added_kinds, added_repositories
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


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
    for pair in change.pairs(ARGO, "AppProject"):
        if pair.before and pair.after and (more := "; ".join(_added(Project(pair.before), Project(pair.after)))):
            yield Raised(f"AppProject {pair.name}", f"allows Argo CD to apply more: {more}", pair.after, ("spec",))


def _added(before: Project, after: Project) -> Iterator[str]:
    """Yields what an AppProject allows and did not allow before, in words."""
    for noun, namespaced in (("cluster-scoped kinds", False), ("kinds", True)):
        if kinds := added_kinds(before, after, namespaced=namespaced):
            yield f"{noun} {', '.join(_kind(*kind) for kind in kinds)}"
    if rows := added_destinations(before, after):
        known = {row.cluster for row in before.destinations}
        names = (row.namespace if row.cluster in known else f"{row.namespace} on {row.cluster}" for row in rows)
        yield f"namespaces {', '.join(names)}"
    if urls := added_repositories(before, after):
        yield f"repositories {', '.join(urls)}"


def _kind(group: str, kind: str, name: str = "*") -> str:
    return "/".join(filter(None, (group, kind))) + ("" if name == "*" else f" {name}")
