"""Impacts on nodes that Karpenter replaces or ends."""

from gpuc.cluster.pool_fields import BUDGETS, CONSOLIDATION, IDLE_TIME, LIFETIME
from gpuc.kubernetes.duration import parse_duration
from gpuc.plan.change import Change, changed
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pool_sizes import nodes_of, nodes_text
from gpuc.substrates.eks.drift import Scope, drifts
from gpuc.substrates.eks.replacement import (
    DRIFTED,
    EMPTY,
    closed_hours,
    details,
    is_closed,
    pace,
    protected_pods_end,
    replaced_words,
)


@impact("IMP110", Level.DISRUPTS)
def nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces all nodes of a node pool."""
    yield from _replaced(change, Scope.ALL, "replaced")


@impact("IMP111", Level.DISRUPTS)
def some_nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces the nodes of a node pool that do not meet the new requirements."""
    yield from _replaced(change, Scope.SOME, "perhaps replaced")


@impact("IMP112", Level.DISRUPTS)
def nodes_perhaps_replaced(change: Change) -> Impacts:
    """Karpenter replaces nodes if other resources of AWS match a new selector."""
    for raised in _replaced(change, Scope.UNKNOWN, "perhaps replaced"):
        yield raised._replace(details=("gpuc cannot compute which nodes match", *raised.details))


def _replaced(change: Change, scope: Scope, outcome: str) -> Impacts:
    """Yields an impact for each node pool of which Karpenter replaces nodes, all of them or those that do not match."""
    for drift in drifts(change, scope):
        first = drift.reasons[0]
        reasons = ", ".join(reason.words for reason in drift.reasons)
        nodes = nodes_text(nodes_of(drift.pairs)) if scope is Scope.ALL else "nodes that no longer match"
        message = f"{replaced_words(nodes, drift.pairs, change.after.cluster, drift.misfits)}: {reasons}"
        predicts = (Prediction(f"nodes of pool {drift.name}", outcome),)
        sentences = tuple(details(drift.pairs, change, drift.misfits))
        yield Raised(f"node pool {drift.name}", message, first.manifest, first.path, sentences, predicts)


@impact("IMP113", Level.DISRUPTS)
def nodes_expire(change: Change) -> Impacts:
    """Nodes of a node pool end after a time, or after a shorter time than before."""
    for pair in change.pools:
        old, new = pair.old, pair.new
        if old is None or new is None:
            continue
        before, after = _seconds(old.lifetime), _seconds(new.lifetime)
        if after is None or (before is not None and after >= before):
            continue
        details = (
            "expiry ignores budgets and working hours, and does not wait for a new node",
            f"an expired node drains; {protected_pods_end(new)}",
        )
        instead = f"{new.lifetime} after their start instead of {old.lifetime.lower()}"
        yield pair.raised(f"new nodes end {instead}", LIFETIME, details)


def _seconds(text: str) -> float | None:
    """Returns a lifetime in seconds; None for nodes that never expire.

    The API server refuses a value that is not a duration.
    """
    try:
        return None if text == "Never" else parse_duration(text)
    except ValueError:
        return None


@impact("IMP130", Level.NONE)
def budget_changes(change: Change) -> Impacts:
    """The budgets change within which Karpenter replaces nodes, or the hours in which Karpenter replaces none."""
    for pair in change.pools:
        if not pair.changes(*BUDGETS):
            continue
        if is_closed(pair.new, DRIFTED):
            message = "no drifted node is replaced while the budget is 0"
        else:
            is_opened = closed_hours(pair.old) and not closed_hours(pair.new)
            hours = ", also in working hours from now on" if is_opened else ""
            message = f"drifted nodes are replaced {pace(pair, change.after.cluster)}{hours}"
        details = ("empty nodes stay too, and cost",) if is_closed(pair.new, EMPTY) else ()
        yield pair.raised(message, BUDGETS, details)


@impact("IMP131", Level.DISRUPTS)
def consolidation_changes(change: Change) -> Impacts:
    """Karpenter also removes nodes of a node pool with running pods, to use fewer or cheaper nodes."""
    for policy in changed((pair for pair in change.pools if not pair.is_static), CONSOLIDATION):
        if policy.before == "WhenEmpty":
            reason = f"(consolidation {policy.after} instead of {policy.before})"
            yield policy.raised(f"Karpenter moves pods to use fewer nodes {reason}")


@impact("IMP132", Level.NONE)
def idle_time_changes(change: Change) -> Impacts:
    """Empty nodes of a node pool end after another time."""
    for time in changed((pair for pair in change.pools if not pair.is_static), IDLE_TIME):
        yield time.raised(f"empty nodes end after {time.after} instead of {time.before}")
