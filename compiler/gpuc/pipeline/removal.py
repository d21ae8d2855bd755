"""Checks that a pool, tenant, namespace or queue stops its work before it is removed from the spec.

Argo CD does not prune these objects, because they hold workloads or data. An element that only disappears from the
spec would continue to exist in the cluster. So a removal takes two commits: the first sets `leaving: true`, which
stops new work, and the second removes the element.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.spelling import nearest, write
from gpuc.model import Cluster
from gpuc.spec.cluster import Removed
from gpuc.write.lockfile import Element, Lock, Removals

UNPREPARED = declare_rule(
    "REM001", Severity.ERROR, "A node pool, tenant, namespace or queue was removed without leaving: true before.",
    "The objects stay in the cluster, although no file describes them: nodes start, quota is lent and work is "
    "admitted until an administrator deletes them, which ends running work. To accept that, name the element in "
    "`removed` with a reason.",
)  # fmt: skip
UNKNOWN_ELEMENT = declare_rule(
    "REM002", Severity.WARNING, "`removed` names an element that the output never contained.",
    "The name may be misspelled. Then the removal of the intended element is not accepted.",
)  # fmt: skip

_SINGULAR = {"pools": "node pool", "tenants": "tenant", "namespaces": "namespace", "queues": "queue"}


def removals(cluster: Cluster) -> Removals:
    """Returns the elements that the spec marks as leaving and those that it names in `removed`."""
    leaving: set[Element] = {("pools", pool.name) for pool in cluster.pools if pool.spec.leaving}
    leaving |= {("queues", queue.name) for queue in cluster.queues if queue.spec.leaving}
    for tenant in cluster.tenants:
        if tenant.spec.leaving:
            leaving.add(("tenants", tenant.name))
        for namespace in tenant.namespaces:
            if tenant.spec.leaving or namespace.spec.leaving:
                leaving.add(("namespaces", namespace.name))
    return Removals(frozenset(leaving), frozenset(_accepted_removals(cluster)))


def staying(tree: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the merged spec without `leaving`, and the elements that had it.

    Elements are paths such as "pools/dev-l4" or "tenants/red/namespaces/lab".
    """
    leaving: list[str] = []

    def unmarked(node: Any, path: tuple[str, ...]) -> Any:
        if not isinstance(node, dict) or path[:1] not in ((), ("pools",), ("tenants",), ("queues",)):
            return node
        if node.get("leaving") is True and len(path) in (2, 4):
            leaving.append("/".join(path))
            node = {key: value for key, value in node.items() if key != "leaving"}
        return {key: unmarked(value, (*path, key)) for key, value in node.items()}

    return tree | {"spec": unmarked(tree["spec"], ())}, tuple(leaving)


def removal_findings(cluster: Cluster, before: Lock) -> list[Finding]:
    """Finds elements that were removed from the spec without `leaving`, and unknown names in `removed`.

    Args:
        before: the gpuc.lock of the output that the compile will replace.
    """
    if cluster.spec.delivery.prune != "confirm":
        return []
    present = _present(cluster)
    removed = {element: owner for element, owner in before.elements.items() if element not in present}
    added = [element for element in present if element not in before.elements]
    findings = []
    for section, name in removed:
        if not _is_accepted((section, name), removed, before, cluster):
            findings.append(_unprepared(section, name, removed, added, cluster))
    known = {*before.elements, *before.removals.removed}
    for section, name in _accepted_removals(cluster):
        if (section, name) not in known:
            path = ("spec", "removed", section, name)
            suggestion = nearest(name, [other for kind, other in removed if kind == section])
            message = f"the output of {cluster.name} had no {_SINGULAR[section]} {name}"
            findings.append(UNKNOWN_ELEMENT.at(path, message, fix=write(suggestion), on_key=True))
    return findings


def _accepted_removals(cluster: Cluster) -> Iterator[Element]:
    """Yields the elements that the spec names in `removed`."""
    for section in Removed.model_fields:
        yield from ((section, name) for name in getattr(cluster.spec.removed, section))


def _present(cluster: Cluster) -> dict[Element, str]:
    """Returns the elements of the spec. The value is the tenant of a namespace, and "" for the other elements."""
    elements = {("pools", pool.name): "" for pool in cluster.pools}
    elements |= {("queues", queue.name): "" for queue in cluster.queues}
    for tenant in cluster.tenants:
        elements["tenants", tenant.name] = ""
        elements |= {("namespaces", namespace.name): tenant.name for namespace in tenant.namespaces}
    return elements


def _is_accepted(element: Element, removed: dict[Element, str], before: Lock, cluster: Cluster) -> bool:
    """Returns whether an element was leaving, is named in `removed`, or is a namespace of a removed tenant."""
    if element in before.removals.leaving or element in _accepted_removals(cluster):
        return True
    return ("tenants", removed[element]) in removed


def _unprepared(
    section: str, name: str, removed: dict[Element, str], added: list[Element], cluster: Cluster
) -> Finding:
    message = f"{_SINGULAR[section]} {name} was removed without leaving: true in an earlier commit"
    if new_name := _new_name(section, name, removed, added):
        message = f"{_SINGULAR[section]} {name} was renamed to {new_name}: a rename is a removal and an addition"
    fix = (
        f"restore {_SINGULAR[section]} {name} with leaving: true for one commit, "
        f"or accept the removal with removed: {{{section}: {{{name}: REASON}}}}"
    )
    return UNPREPARED.at(_section(section, removed[section, name], cluster), message, fix=fix, on_key=True)


def _new_name(section: str, name: str, removed: dict[Element, str], added: list[Element]) -> str:
    """Returns the added element that is probably the renamed element; empty if none is similar."""
    added_names = [other for kind, other in added if kind == section]
    removed_names = [other for kind, other in removed if kind == section]
    if len(added_names) == len(removed_names) == 1:
        return added_names[0]
    return nearest(name, added_names)


def _section(section: str, owner: str, cluster: Cluster) -> Path:
    """Returns the path of the section that contained the element."""
    if section != "namespaces":
        return ("spec", section)
    return ("spec", "tenants", owner, "namespaces")
