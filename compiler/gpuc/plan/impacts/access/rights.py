"""Impacts on the rights of people and pods, and on what AppProjects allow Argo CD to do."""

from collections.abc import Iterator

from gpuc.cluster.application import ARGO
from gpuc.cluster.project import Project, added_destinations, added_kinds, added_repositories
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact, workloads_of
from gpuc.plan.rights import EVERYWHERE, Right, gained, lost, rights_text


@impact("IMP451", Level.NONE)
def rights_gained(change: Change) -> Impacts:
    """A group, a user, or a service account of a tenant gains rights."""
    for rights in gained(change):
        message = f"{rights.action('gets', 'can do more')}; new rights: {rights_text(rights.rights)}"
        yield Raised(rights.subject, message, rights.binding, rights.path)


_WORK = {Right("create", "batch", "jobs"), Right("create", "apps", "deployments"), Right("create", "", "pods")}
"""Rights without which a group cannot start work."""


@impact("IMP452", Level.RESTRICTS)
def rights_lost(change: Change) -> Impacts:
    """A group, a user, or a service account of a tenant loses rights in a namespace that remains."""
    for rights in lost(change):
        message = f"{rights.action('loses', 'can do less')}; lost rights: {rights_text(rights.rights)}"
        refused = rights.namespaces if rights.subject.startswith("group ") and _WORK & rights.rights else ()
        outcome = "refused" if rights.rights >= _WORK else "perhaps refused"
        predicts = workloads_of("namespace", (name for name in refused if name != EVERYWHERE), outcome)
        yield Raised(rights.subject, message, rights.binding, rights.path, predicts=predicts)


@impact("IMP454", Level.NONE)
def project_widens(change: Change) -> Impacts:
    """An AppProject allows Argo CD to apply more kinds of objects, or to use more namespaces or repositories."""
    for pair in change.pairs(ARGO, "AppProject"):
        if pair.before and pair.after and (more := "; ".join(_added(Project(pair.before), Project(pair.after)))):
            yield Raised(f"AppProject {pair.name}", f"allows Argo CD to apply more: {more}", pair.after, ("spec",))


def _added(before: Project, after: Project) -> Iterator[str]:
    """Yields what an AppProject allows and did not allow before, in words."""
    for noun, namespaced in (("cluster-scoped kinds", False), ("kinds", True)):
        if kinds := added_kinds(before, after, namespaced=namespaced):
            yield f"{noun} {', '.join(_kind_text(*kind) for kind in kinds)}"
    if rows := added_destinations(before, after):
        known = {row.cluster for row in before.destinations}
        names = (row.namespace if row.cluster in known else f"{row.namespace} on {row.cluster}" for row in rows)
        yield f"namespaces {', '.join(names)}"
    if urls := added_repositories(before, after):
        yield f"repositories {', '.join(urls)}"


def _kind_text(group: str, kind: str, name: str = "*") -> str:
    return "/".join(filter(None, (group, kind))) + ("" if name == "*" else f" {name}")
