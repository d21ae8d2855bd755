"""Checks that a pool, tenant, namespace or queue has `leaving: true` in one commit before the next commit removes it.

Argo CD does not delete the objects of these elements, because they contain workloads or data. If a commit only removed
the element from the spec, its objects would remain in the cluster. A removal therefore takes two commits: the first
sets `leaving: true`, which stops new work, and the second removes the element.
"""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Finding, rule_table
from gpuc.diagnostics.spelling import nearest, write
from gpuc.model import Cluster
from gpuc.spec.cluster import Removed
from gpuc.write.lockfile import Element, Lock, Removals

rule_of = rule_table(__file__)
UNPREPARED = rule_of("REM001")
UNKNOWN_ELEMENT = rule_of("REM002")

_SINGULAR = {"pools": "node pool", "tenants": "tenant", "namespaces": "namespace", "queues": "queue"}


def removals(cluster: Cluster) -> Removals:
    """Returns the elements with `leaving: true` in the spec, and the elements in its section `removed`."""
    leaving: set[Element] = {("pools", pool.name) for pool in cluster.pools if pool.spec.leaving}
    leaving |= {("queues", queue.name) for queue in cluster.queues if queue.spec.leaving}
    for tenant in cluster.tenants:
        if tenant.spec.leaving:
            leaving.add(("tenants", tenant.name))
        for namespace in tenant.namespaces:
            if tenant.spec.leaving or namespace.spec.leaving:
                leaving.add(("namespaces", namespace.name))
    return Removals(frozenset(leaving), frozenset(_accepted_removals(cluster)))


def removal_findings(cluster: Cluster, before: Lock | None) -> Iterator[Finding]:
    """Yields findings about elements that were removed without `leaving: true`, and wrong names in `removed`.

    Args:
        before: the gpuc.lock of the output that this compile replaces; None if there is no output.
    """
    if before is None or cluster.spec.delivery.prune != "confirm":
        return
    present = _present(cluster)
    removed = {element: tenant for element, tenant in before.elements.items() if element not in present}
    added = [element for element in present if element not in before.elements]
    accepted = list(_accepted_removals(cluster))
    for (section, name), tenant in removed.items():
        is_accepted = (section, name) in (*before.removals.leaving, *accepted)
        if not is_accepted and ("tenants", tenant) not in removed:  # a removed tenant takes its namespaces along
            yield _unprepared(section, name, removed, added)
    known = {*before.elements, *before.removals.removed}
    for section, name in accepted:
        if (section, name) not in known:
            path = ("spec", "removed", section, name)
            suggestion = nearest(name, [other for kind, other in removed if kind == section])
            message = f"the output of cluster {cluster.name} had no {_SINGULAR[section]} {name}"
            yield UNKNOWN_ELEMENT.at(path, message, fix=write(suggestion), on_key=True)


def _accepted_removals(cluster: Cluster) -> Iterator[Element]:
    """Yields the elements that the spec names in `removed`."""
    for section in Removed.model_fields:
        yield from ((section, name) for name in getattr(cluster.spec.removed, section))


def _present(cluster: Cluster) -> dict[Element, str]:
    """Returns the elements of the spec. The value of a namespace is its tenant; all other values are empty."""
    elements = {("pools", pool.name): "" for pool in cluster.pools}
    elements |= {("queues", queue.name): "" for queue in cluster.queues}
    for tenant in cluster.tenants:
        elements["tenants", tenant.name] = ""
        elements |= {("namespaces", namespace.name): tenant.name for namespace in tenant.namespaces}
    return elements


def _unprepared(section: str, name: str, removed: dict[Element, str], added: list[Element]) -> Finding:
    message = f"{_SINGULAR[section]} {name} was removed without leaving: true in an earlier commit"
    if new_name := _new_name(section, name, removed, added):
        message = f"{_SINGULAR[section]} {name} was renamed to {new_name}: a rename is a removal and an addition"
    fix = (
        f"restore {_SINGULAR[section]} {name} with leaving: true for one commit, "
        f"or accept the removal with removed: {{{section}: {{{name}: REASON}}}}"
    )
    tenant = removed[section, name]
    path = ("spec", "tenants", tenant, "namespaces") if section == "namespaces" else ("spec", section)
    return UNPREPARED.at(path, message, fix=fix, on_key=True)


def _new_name(section: str, name: str, removed: dict[Element, str], added: list[Element]) -> str:
    """Returns the added element that probably replaces the removed element under a new name; empty for none."""
    added_names = [other for kind, other in added if kind == section]
    removed_names = [other for kind, other in removed if kind == section]
    if len(added_names) == len(removed_names) == 1:
        return added_names[0]
    return nearest(name, added_names)
