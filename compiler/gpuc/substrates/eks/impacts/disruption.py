"""Impacts of a change on running nodes, which Karpenter replaces or ends."""

from collections.abc import Iterator
from math import inf

from gpuc.cluster.pool import Pool as NodePool
from gpuc.cluster.pool_fields import BUDGETS, CONSOLIDATION, DISRUPTION, IDLE_TIME, LIFETIME
from gpuc.kubernetes.duration import format_duration, parse_duration
from gpuc.plan.change import Change, PoolPair
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.pool_sizes import nodes_of, nodes_text, pool_of
from gpuc.substrates.eks.budgets import (
    DRIFTED,
    EMPTY,
    NEVER,
    UNDERUSED,
    WHEN_EMPTY,
    allows_more,
    idle_time,
    is_closed,
    is_open,
    pace,
    policy_of,
)
from gpuc.substrates.eks.drift import Scope, drifts
from gpuc.substrates.eks.replacement import details, grace_words, protected_pods_end, replaced_words


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
    """Karpenter replaces nodes if a new selector matches other AWS resources than the old selector."""
    for raised in _replaced(change, Scope.UNKNOWN, "perhaps replaced"):
        yield raised._replace(details=("gpuc cannot compute which nodes match", *raised.details))


def _replaced(change: Change, scope: Scope, outcome: str) -> Impacts:
    """Yields an impact for each node pool whose nodes Karpenter replaces: all nodes, or the nodes that do not match."""
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
    """The nodes of a node pool get a maximum lifetime, or a shorter maximum lifetime than before."""
    for pair in change.pools:
        old, new = pair.old, pair.new
        if old is None or new is None:
            continue
        after = _seconds(new.lifetime)
        if after >= _seconds(old.lifetime):
            continue
        sentences = [
            "expiry ignores budgets and working hours, and does not wait for a new node",
            f"an expired node drains; {protected_pods_end(new)}",
        ]
        pool = pool_of(change.after.cluster, pair.element)
        if pool and pool.spec.runs and pool.spec.runs.longest > after:
            sentences.append(f"runs last up to {format_duration(pool.spec.runs.longest)}, longer than a node")
        instead = f"{new.lifetime} after their start instead of {old.lifetime.lower()}"
        yield pair.raised(f"new nodes end {instead}", LIFETIME, sentences)


def _seconds(text: str) -> float:
    """Returns a time in seconds; infinity for "Never", and for a text that the API server refuses."""
    try:
        return inf if text == NEVER else parse_duration(text)
    except ValueError:
        return inf


_WORDS = {DRIFTED: "drifted nodes are replaced", UNDERUSED: "pods move to fewer nodes", EMPTY: "empty nodes end"}
_NONE = {DRIFTED: "no drifted node is replaced", UNDERUSED: "no pods move", EMPTY: "empty nodes stay, and cost,"}


@impact("IMP130", Level.NONE)
def budget_changes(change: Change) -> Impacts:
    """The disruption budgets allow Karpenter to disrupt fewer nodes, at fewer times, or only more empty nodes."""
    for old, new, pair in _kept_pools(change):
        if next(_allowing_more(old, new), None):
            continue
        different = [reason for reason in _WORDS if allows_more(new, old, reason) or allows_more(old, new, reason)]
        # Pods that begin to move are another impact.
        changed = [reason for reason in different if is_open(old, reason) or (reason == EMPTY and is_open(new, EMPTY))]
        words = [
            f"{_NONE[reason]} while the budget is 0"
            if is_closed(new, reason)
            else f"{_WORDS[reason]} {pace(new, change.after.cluster, reason)}"
            for reason in changed
        ]
        if words:
            yield pair.raised("; ".join(words), BUDGETS)


@impact("IMP133", Level.DISRUPTS)
def budgets_widen(change: Change) -> Impacts:
    """The disruption budgets allow Karpenter to disrupt more nodes at a time, or nodes at more times."""
    for old, new, pair in _kept_pools(change):
        for reason in _allowing_more(old, new):
            now, before = pace(new, change.after.cluster, reason), pace(old, change.before.cluster, reason)
            drifted = "nodes that have drifted before the change are replaced too; budgets drift no node"
            sentences = (drifted, grace_words(pair, change)) if reason == DRIFTED else _kept_nodes(new)
            predicts = (Prediction(f"nodes of pool {pair.element}", "perhaps replaced"),)
            yield pair.raised(f"{_WORDS[reason]} {now}; until now {before}", BUDGETS, sentences, predicts)


def _allowing_more(old: NodePool, new: NodePool) -> Iterator[str]:
    """Yields the reasons for which the budgets of a NodePool allow more nodes than before, if the reasons affect pods.

    A NodePool whose pods did not move before is another impact.
    """
    if allows_more(new, old, DRIFTED):
        yield DRIFTED
    if is_open(old, UNDERUSED) and is_open(new, UNDERUSED) and allows_more(new, old, UNDERUSED):
        yield UNDERUSED


@impact("IMP131", Level.DISRUPTS)
def consolidation_changes(change: Change) -> Impacts:
    """Karpenter begins to move pods to use fewer or cheaper nodes, or moves the pods sooner than before."""
    for old, new, pair in _kept_pools(change):
        policies, times = (policy_of(old), policy_of(new)), (idle_time(old), idle_time(new))
        is_shorter = _seconds(times[1]) < _seconds(times[0])
        reasons = {
            CONSOLIDATION: policies[0] != policies[1] and f"consolidation {policies[1]} instead of {policies[0]}",
            IDLE_TIME: is_shorter and f"after {times[1]} without a change of pods instead of {times[0]}",
            BUDGETS: is_closed(old, UNDERUSED) and f"until now {pace(old, change.before.cluster, UNDERUSED)}",
        }
        # With Balanced, Karpenter moves pods only if the savings are large enough.
        is_sooner = policies[0] == "Balanced" != policies[1] or is_shorter
        texts = [(path, text) for path, text in reasons.items() if text]
        if texts and is_open(new, UNDERUSED) and (is_sooner or not is_open(old, UNDERUSED)):
            why, how = ", ".join(text for _, text in texts), pace(new, change.after.cluster, UNDERUSED)
            message = f"Karpenter moves pods to use fewer nodes ({why}), {how}"
            predicts = (Prediction(f"nodes of pool {pair.element}", "perhaps replaced"),)
            yield pair.raised(message, texts[0][0], _kept_nodes(new), predicts)


def _kept_nodes(pool: NodePool) -> tuple[str, ...]:
    """Returns which nodes Karpenter does not remove to use fewer nodes.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/types.go (NewCandidate), consolidation.go
    """
    return (
        "a node stays if a pod has karpenter.sh/do-not-disrupt, or if a PodDisruptionBudget allows no eviction",
        "a node stays unless its pods fit on other nodes, or on one cheaper node",
        f"a node stays for {idle_time(pool)} after a pod has started or ended on it",
    )


@impact("IMP132", Level.NONE)
def idle_time_changes(change: Change) -> Impacts:
    """Karpenter removes empty nodes after another time or never, or no longer moves pods to use fewer nodes."""
    for old, new, pair in _kept_pools(change):
        before, after = idle_time(old), idle_time(new)
        if before != after and not new.is_static:
            stay = f"empty nodes stay, and cost, instead of ending after {before}"
            ended = "after they stayed" if before == NEVER else f"instead of {before}"
            yield pair.raised(stay if after == NEVER else f"empty nodes end after {after} {ended}", IDLE_TIME)
        elif is_open(old, UNDERUSED) and not is_open(new, UNDERUSED) and policy_of(new) == WHEN_EMPTY:
            policies = f"consolidation {policy_of(new)} instead of {policy_of(old)}"
            yield pair.raised(f"Karpenter no longer moves pods to use fewer nodes ({policies})", CONSOLIDATION)


def _kept_pools(change: Change) -> Iterator[tuple[NodePool, NodePool, PoolPair]]:
    """Yields the NodePools of both states whose spec.disruption differs, before and after the change."""
    for pair in change.pools:
        if pair.old and pair.new and pair.changes(*DISRUPTION):
            yield pair.old, pair.new, pair
