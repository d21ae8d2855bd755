"""Computes the plan of a cluster: the impacts of a change with their lines, and the objects that change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gpuc.diagnostics.finding import Finding, Severity, declare_rule
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.diagnostics.suppressions import acceptances, candidates
from gpuc.plan.causes import mark_of, place_of
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import IMPACTS, LEVELS, Impact, Level, Raised, is_impact

NOT_NEEDED = declare_rule(
    "ACC002", Severity.WARNING, "An entry of `accept` matches no impact of the change.",
    "The entry accepted an impact of an earlier change. It would hide the same impact of a later change.",
)  # fmt: skip
CLUSTER_REMOVED = "IMP508"
"""The impact that describes a removed cluster."""


@dataclass(frozen=True)
class ClusterPlan:
    """What a change does to one cluster."""

    name: str
    change: Change
    impacts: tuple[Impact, ...]
    """The impacts, the most dangerous first."""
    objects: tuple[Pair, ...]
    """The objects and Helm values that are added, changed or removed."""
    findings: tuple[Finding, ...] = ()
    """Acceptances of impacts that the change does not have."""
    summary: tuple[str, ...] = ()
    """Sentences in the words of the spec."""
    notes: tuple[str, ...] = field(default=())
    """What the plan could not compare, and why."""


def plan_cluster(change: Change) -> ClusterPlan:
    """Returns the plan of one cluster."""
    from gpuc.plan.summary import summary

    impacts = sorted(_impacts(change), key=lambda one: (LEVELS.index(one.level), one.id, one.subject, one.message))
    found, findings = _accepted(change, impacts)
    objects = tuple(pair for pair in change.all_pairs if pair.fields)
    plan = ClusterPlan(change.after.name or change.before.name, change, tuple(found), objects, tuple(findings))
    return replace(plan, summary=tuple(summary(plan)), notes=tuple(_notes(change)))


def _impacts(change: Change) -> Iterator[Impact]:
    for check in IMPACTS.discover():
        # Argo CD deletes and changes nothing of a removed cluster, so the other impacts do not happen.
        if change.is_removed and check.rule.id != CLUSTER_REMOVED:
            continue
        for raised in check.find(change):
            yield located(change, check.rule.id, Level(check.rule.level), raised)


def located(change: Change, id: str, level: Level, raised: Raised) -> Impact:  # noqa: A002
    """Returns the impact with the path and the line of the spec that caused it."""
    path = raised.path
    if raised.manifest is None:
        mark, is_before = mark_of(change, path)
    else:
        path, mark, is_before = place_of(change, raised.manifest, raised.path)
    return Impact(id, level, raised.subject, raised.message, path, mark, is_before, raised.details, raised.predicts)


def _accepted(change: Change, impacts: Iterable[Impact]) -> tuple[list[Impact], list[Finding]]:
    """Returns the impacts with the reasons for which the spec accepts them, and a finding for each unused reason.

    A removal that the spec names in `removed` is accepted too.
    """
    found = list(impacts)
    if change.after.source is None:
        return found, []
    reasons = {path: reason for path, reason in acceptances(change.after.source.tree) if is_impact(str(path[-1]))}
    used: set[SpecPath] = set()
    for index, one in enumerate(found):
        matching = [path for path in candidates(one.path, one.id) if path in reasons]
        used.update(matching)
        if reason := next((reasons[path] for path in matching), "") or _removal_reason(change, one):
            found[index] = replace(one, accepted=reason)
    findings = []
    for path in reasons:
        if path not in used:
            message = f"accept names {path[-1]}, but the change has no impact {path[-1]} at this path or below"
            finding = NOT_NEEDED.at(path, message, fix=f"remove {path[-1]} from accept", on_key=True)
            findings.append(replace(change.after.source.located(finding), cluster=change.after.name))
    return found, findings


def _removal_reason(change: Change, one: Impact) -> str:
    """Returns the reason in `removed` for the element of an impact; an empty string without a reason."""
    cluster = change.after.cluster
    match one.path:
        case ("spec", ("pools" | "queues") as section, str(name), *_) if cluster:
            return str(getattr(cluster.spec.removed, section).get(name, ""))
        case ("spec", "tenants", str(tenant), "namespaces", str(name), *_) if cluster:
            removed = cluster.spec.removed
            return str(removed.namespaces.get(name, "") or removed.tenants.get(tenant, ""))
        case ("spec", "tenants", str(name), *_) if cluster:
            return str(cluster.spec.removed.tenants.get(name, ""))
    return ""


def _notes(change: Change) -> Iterator[str]:
    if change.before.exists and change.before.source is not None and change.before.cluster is None:
        yield "this gpuc cannot compile the spec of the state before, so the plan compares only the objects"

    before, after = change.before.source, change.after.source
    if before is not None and after is not None and before.tree == after.tree:
        count = sum(bool(pair.fields) and pair.manifest.written is None for pair in change.all_pairs)
        if count:
            noun = "object changes" if count == 1 else "objects change"
            yield f"{count} {noun} without a change of the spec: this gpuc, or a file of the fleet, differs"
