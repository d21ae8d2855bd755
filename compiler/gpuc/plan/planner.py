"""Computes the plans of clusters: the impacts of a change with their lines, a summary, and the objects that change.

If several impacts have the same id, the summary begins with the impacts on the node pools that have the most nodes.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, rule_table
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.diagnostics.suppressions import IMPACT, acceptances, candidates
from gpuc.diagnostics.words import counted
from gpuc.model import Cluster
from gpuc.objects.object_set import grouped
from gpuc.plan.change import Change, Pair
from gpuc.plan.cost_changes import (
    ALWAYS,
    AT_MAXIMUM,
    CostChange,
    always_changes,
    difference_text,
    newly_priced,
    pool_changes,
    price_source_words,
    usd,
)
from gpuc.plan.impact import IMPACTS, Impact, Level, Raised
from gpuc.plan.object_changes import mark_of, place_of
from gpuc.plan.pool_sizes import pool_sizes
from gpuc.plan.quantities import pool_sentences, quota_sentences, tenant_sentences

rule_of = rule_table(__file__)
NOT_NEEDED = rule_of("ACC002")
CLUSTER_REMOVED = "IMP508"
"""The impact that describes a removed cluster."""


class ClusterPlan(Struct, frozen=True):
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
    impacts = sorted(_impacts(change), key=lambda found: found.order)
    found, findings = _accepted(change, impacts)
    objects = tuple(pair for pair in change.all_pairs if pair.fields)
    plan = ClusterPlan(change.after.name or change.before.name, change, tuple(found), objects, tuple(findings))
    return replace(plan, summary=tuple(summary(plan)), notes=tuple(_notes(change)))


def _impacts(change: Change) -> Iterator[Impact]:
    """Yields the impacts.

    gpuc can emit several objects from one element of the spec, for example the ClusterQueues of a queue. The element
    then has each impact once.
    """
    for check in IMPACTS.discover():
        # Argo CD deletes and changes nothing of a removed cluster, so the other impacts do not happen.
        if change.is_removed and check.rule.id != CLUSTER_REMOVED:
            continue
        found = grouped(check.find(change), lambda raised: (raised.subject, raised.message))
        for raised, *_ in found.values():
            yield located(change, check.rule.id, Level(check.rule.level), raised)


def located(change: Change, id: str, level: Level, raised: Raised) -> Impact:  # noqa: A002
    """Returns the impact with the path in the spec that caused it, and the line of this path."""
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
    accepted = acceptances(change.after.source.tree)
    reasons = {path: reason for path, reason in accepted if str(path[-1]).startswith(IMPACT)}
    used: set[SpecPath] = set()
    for index, impact in enumerate(found):
        matching = [path for path in candidates(impact.path, impact.id) if path in reasons]
        used.update(matching)
        if reason := next((reasons[path] for path in matching), "") or _removal_reason(change, impact):
            found[index] = replace(impact, accepted=reason)
    findings = []
    for path in reasons:
        if path not in used:
            message = f"accept contains {path[-1]}, but the change has no impact {path[-1]} at this path or below"
            finding = NOT_NEEDED.at(path, message, fix=f"remove {path[-1]} from accept", on_key=True)
            findings.append(replace(change.after.source.located(finding), cluster=change.after.name))
    return found, findings


def _removal_reason(change: Change, impact: Impact) -> str:
    """Returns the reason in `removed` for the element of an impact; an empty string without a reason."""
    if (cluster := change.after.cluster) is None:
        return ""
    removed = cluster.spec.removed
    match impact.path:
        case ("spec", ("pools" | "queues") as section, str(name), *_):
            return str(getattr(removed, section).get(name, ""))
        case ("spec", "tenants", str(tenant), "namespaces", str(name), *_):
            return str(removed.namespaces.get(name, "") or removed.tenants.get(tenant, ""))
        case ("spec", "tenants", str(name), *_):
            return str(removed.tenants.get(name, ""))
    return ""


def objects_change(count: int) -> str:
    """Returns how many objects change: "1 object changes", or "2 objects change"."""
    return f"{counted(count, 'object')} change{'s' if count == 1 else ''}"


def _notes(change: Change) -> Iterator[str]:
    if change.before.exists and change.before.source is not None and change.before.cluster is None:
        yield "this gpuc cannot compile the spec of the state before, so the plan compares only the objects"

    before, after = change.before.source, change.after.source
    if before is not None and after is not None and before.tree == after.tree:
        count = sum(bool(pair.fields) and pair.manifest.written is None for pair in change.all_pairs)
        if count:
            yield f"{objects_change(count)} without a change of the spec: this gpuc, or a file of the fleet, differs"


_SENTENCES = 6
"""The maximum number of sentences of one kind."""
_DANGEROUS = (Level.DESTROYS, Level.DISRUPTS)


def summary(plan: ClusterPlan) -> Iterator[str]:
    """Yields the sentences of the summary: added and removed elements, quantities, costs, then dangerous impacts."""
    change = plan.change
    before, after = change.before.cluster, change.after.cluster
    if change.other_name:
        old, new = (plan.name, change.other_name) if change.is_removed else (change.other_name, plan.name)
        yield f"cluster {old} is renamed to {new}"
    elif change.is_new:
        yield f"cluster {plan.name} is new"
    elif change.is_removed:
        yield f"cluster {plan.name} is removed"
    elif before and after:
        for sentences in (pool_sentences, quota_sentences, tenant_sentences):
            yield from _limited(list(sentences(before, after)))
    yield from _costs(change)
    dangerous = [impact for impact in plan.impacts if impact.level in _DANGEROUS and not impact.accepted]
    nodes = {f"node pool {size.name}": size.before for size in pool_sizes(change)}
    dangerous.sort(key=lambda impact: (*impact.order[:2], -nodes.get(impact.subject, 0)))
    yield from _limited([f"{impact.subject}: {impact.message.split('; ')[0]}" for impact in dangerous])


def _costs(change: Change) -> Iterator[str]:
    """Yields the differences of the costs of all node pools, and the node pools with a new price.

    The nodes of a removed cluster continue to cost money. The nodes of a renamed cluster cost money before and after.
    """
    if change.is_removed or change.other_name:
        return
    at_maximum = list(pool_changes(change))
    yield from _total(AT_MAXIMUM, at_maximum)
    yield from _total(ALWAYS, list(always_changes(change)))
    unknown = sorted(cost.name for cost in at_maximum if cost.missing)
    if unknown:
        yield f"the costs of {', '.join(unknown)} change, and a price is missing"
    for name, cost in newly_priced(change):
        yield f"node pool {name} is now priced: at the maximum {usd(cost.monthly_usd)} a month for instances"


def _total(what: str, changes: Iterable[CostChange]) -> Iterator[str]:
    """Yields the difference of the costs of all changes with a known difference."""
    known = [cost for cost in changes if cost.is_priced]
    total = sum(cost.monthly_usd for cost in known)
    if round(total):
        sources = price_source_words(side for cost in known for side in (cost.before, cost.after))
        yield f"{what} {difference_text(total)} ({sources})"


def _limited(sentences: list[str]) -> Iterator[str]:
    yield from sentences[:_SENTENCES]
    if len(sentences) > _SENTENCES:
        yield f"and {len(sentences) - _SENTENCES} more of this kind"


class Plans(Struct, frozen=True):
    """The result of `gpuc plan` or `gpuc diff`."""

    before: str
    """The state before in words: a commit, or a folder."""
    clusters: tuple[ClusterPlan, ...]
    """The plans by cluster, sorted by name. Without a spec, there is one plan, whose name is empty."""
    prefix: str = ""
    """The path of the fleet in its Git repository, for example "infra/fleet/"."""

    @property
    def changed(self) -> tuple[ClusterPlan, ...]:
        """The plans with changed objects, impacts, findings or notes; the most dangerous impacts come first."""
        found = [plan for plan in self.clusters if plan.objects or plan.impacts or plan.findings or plan.notes]
        ranks = {plan.name: min((impact.level.rank for impact in plan.impacts), default=len(Level)) for plan in found}
        return tuple(sorted(found, key=lambda plan: (ranks[plan.name], plan.name)))

    def impacts(self) -> Iterator[tuple[str, Impact]]:
        """Yields the impacts of all clusters with the name of the cluster. The most dangerous impacts come first."""
        found = [(plan.name, impact) for plan in self.clusters for impact in plan.impacts]
        yield from sorted(found, key=lambda row: (row[1].level.rank, row[0], row[1].order))

    def fails(self, level: Level | None) -> bool:
        """Returns whether an impact that the spec does not accept has this level or a more dangerous level."""
        if level is None:
            return False
        return any(impact.level.rank <= level.rank and not impact.accepted for _, impact in self.impacts())


def with_other_names(changes: Iterable[Change]) -> list[Change]:
    """Returns the changes. If a cluster is renamed, `other_name` in its two changes is the name of the other change.

    A removed cluster and a new cluster are the same cluster if their substrate (the place where the cluster lives) and
    the destination of Argo CD identify the same cluster. Accounts of a cloud are not compared, because specs do not
    contain them.
    """
    found = list(changes)
    states = (
        [change.before for change in found if change.is_removed],
        [change.after for change in found if change.is_new],
    )
    removed, added = ({_identity(state.cluster): state.name for state in some if state.cluster} for some in states)
    others = {removed[key]: added[key] for key in removed.keys() & added.keys()}
    others |= {after: before for before, after in others.items()}
    return [replace(change, other_name=others.get(change.after.name or change.before.name, "")) for change in found]


def _identity(cluster: Cluster) -> tuple[str, ...]:
    """Returns the identity of the cluster, and the destination of Argo CD."""
    destination = cluster.spec.delivery.destination
    return *cluster.substrate.identity(cluster.spec), str(destination.server or destination.name)
