"""Removals: what the output described and the spec no longer names, and whether its work was stopped before.

Nothing prunes what holds work or data, so an element that only disappears from the spec goes on in the cluster. Its
removal takes two commits: the first marks the element as leaving, the second takes it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.diagnostics.spelling import nearest, write
from gpuc.model import Cluster
from gpuc.spec.cluster import Removed
from gpuc.write.lockfile import Departures, Element, Lock

UNPREPARED = declare_rule(
    "REM001", Severity.ERROR, "A pool, tenant, namespace or queue left the spec before its work was stopped.",
    "The cluster keeps what no file describes: nodes start, quota is lent, and work is admitted until people delete "
    "the objects, or running work ends with them. A name in the spec's `removed` accepts that, with a reason.",
)  # fmt: skip
NEVER_THERE = declare_rule(
    "REM002", Severity.WARNING, "A removal has a reason, but the output never had the element.",
    "The name may be misspelled: the removal that it is for is not accepted.",
)  # fmt: skip

_ONE = {"pools": "pool", "tenants": "tenant", "namespaces": "namespace", "queues": "queue"}
"""A section, and what one of it is called."""


def departures(cluster: Cluster) -> Departures:
    """The elements that the spec marks as leaving or gives a reason for, for the index of the cluster's output."""
    leaving: set[Element] = {("pools", pool.name) for pool in cluster.pools if pool.spec.leaving}
    leaving |= {("queues", queue.name) for queue in cluster.queues if queue.spec.leaving}
    for tenant in cluster.tenants:
        if tenant.spec.leaving:
            leaving.add(("tenants", tenant.name))
        for namespace in tenant.namespaces:
            if tenant.spec.leaving or namespace.spec.leaving:
                leaving.add(("namespaces", namespace.name))
    return Departures(frozenset(leaving), frozenset(_reasoned(cluster)))


def staying(tree: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A merged spec without its marks of leaving, and what had one: "pools/dev-l4", "tenants/red/namespaces/lab"."""
    found: list[str] = []

    def unmarked(node: Any, path: tuple[str, ...]) -> Any:
        if not isinstance(node, dict) or path[:1] not in ((), ("pools",), ("tenants",), ("queues",)):
            return node
        if node.get("leaving") is True and len(path) in (2, 4):
            found.append("/".join(path))
            node = {key: value for key, value in node.items() if key != "leaving"}
        return {key: unmarked(value, (*path, key)) for key, value in node.items()}

    return tree | {"spec": unmarked(tree["spec"], ())}, tuple(found)


def unprepared(cluster: Cluster, before: Lock) -> list[Finding]:
    """Elements of the output that left the spec before their work was stopped, and reasons for what never was there.

    Args:
        before: the index of the output that the spec is about to replace.
    """
    if cluster.spec.delivery.prune != "confirm":
        return []
    present = _present(cluster)
    gone = {element: owner for element, owner in before.elements.items() if element not in present}
    come = [element for element in present if element not in before.elements]
    findings = []
    for section, name in gone:
        if not _is_accepted((section, name), gone, before, cluster):
            findings.append(_left(section, name, gone, come, cluster))
    known = {*before.elements, *before.departures.removed}
    for section, name in _reasoned(cluster):
        if (section, name) not in known:
            path = ("spec", "removed", section, name)
            near = nearest(name, [other for kind, other in gone if kind == section])
            message = f"the output of {cluster.name} had no {_ONE[section]} {name}"
            findings.append(NEVER_THERE.at(path, message, fix=write(near), on_key=True))
    return findings


def _reasoned(cluster: Cluster) -> Iterator[Element]:
    """The elements that the spec's `removed` names."""
    for section in Removed.model_fields:
        yield from ((section, name) for name in getattr(cluster.spec.removed, section))


def _present(cluster: Cluster) -> dict[Element, str]:
    """The elements of the spec; the tenant of each namespace, and "" of the others."""
    found = {("pools", pool.name): "" for pool in cluster.pools}
    found |= {("queues", queue.name): "" for queue in cluster.queues}
    for tenant in cluster.tenants:
        found["tenants", tenant.name] = ""
        found |= {("namespaces", namespace.name): tenant.name for namespace in tenant.namespaces}
    return found


def _is_accepted(element: Element, gone: dict[Element, str], before: Lock, cluster: Cluster) -> bool:
    """Whether an element was leaving or has a reason; a namespace goes with its tenant, which has its own finding."""
    if element in before.departures.leaving or element in _reasoned(cluster):
        return True
    return ("tenants", gone[element]) in gone


def _left(section: str, name: str, gone: dict[Element, str], come: list[Element], cluster: Cluster) -> Finding:
    message = f"{_ONE[section]} {name} left, and no commit before marked it as leaving"
    if successor := _successor(section, name, gone, come):
        message = f"{_ONE[section]} {name} left and {successor} came: a rename is a removal and an addition"
    reason = f"removed: {{{section}: {{{name}: WHY}}}}"
    fix = f"put {name} back with leaving: true for one commit, or give a reason as {reason}"
    return UNPREPARED.at(_section(section, gone[section, name], cluster), message, fix=fix, on_key=True)


def _successor(section: str, name: str, gone: dict[Element, str], come: list[Element]) -> str:
    """The element that probably has the new name of one that left; empty where none is like it."""
    names = [other for kind, other in come if kind == section]
    left = [other for kind, other in gone if kind == section]
    if len(names) == len(left) == 1:
        return names[0]
    return nearest(name, names)


def _section(section: str, owner: str, cluster: Cluster) -> Path:
    """The key under which the element stood."""
    if section != "namespaces":
        return ("spec", section)
    return ("spec", "tenants", owner, "namespaces")
