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
    """Karpenter replaces all nodes of a node pool.

    The hash of the NodePool or of the EC2NodeClass changes, or no node meets the requirements or has the image any
    more. Karpenter marks the nodes as drifted, and replaces them within the budgets. The new node starts first, so the
    limits must leave a place for it beside the other nodes. A node with pods that do not fit the new nodes, for example
    because they do not tolerate a new taint, stays until its pods change; a static pool replaces it all the same. The
    nodes of a static pool drift without a replacement if its limit leaves no place for the new node.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go,
    pkg/controllers/disruption/drift.go, staticdrift.go, helpers.go (SimulateScheduling); aws/karpenter-provider-aws
    v1.14.1 pkg/cloudprovider/drift.go
    """
    yield from _replaced(change, Scope.ALL, "replaced")


@impact("IMP111", Level.DISRUPTS)
def some_nodes_replaced(change: Change) -> Impacts:
    """Karpenter replaces the nodes of a node pool that do not meet the new requirements.

    A node keeps the instance type, zone, purchase option, subnet and reservation with which it started, with one
    exception: if its reservation ends, a reserved node becomes an on-demand node. Karpenter compares these properties
    with the new requirements. Other nodes stay.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go
    (areRequirementsDrifted); aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go,
    pkg/controllers/capacityreservation/capacitytype/controller.go (syncCapacityType)
    """
    yield from _replaced(change, Scope.SOME, "perhaps replaced")


@impact("IMP112", Level.DISRUPTS)
def nodes_perhaps_replaced(change: Change) -> Impacts:
    """Karpenter replaces nodes if other resources of AWS match a new selector.

    gpuc cannot know which images, subnets and security groups have the tags, or which nodes have a label. If other
    resources match than until now, the nodes drift.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/disruption/drift.go
    (areRequirementsDrifted); aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go
    """
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
    """Nodes of a node pool end after a time, or after a shorter time than before.

    Karpenter deletes an expired node without regard to budgets and working hours, and before a new node has started.
    Nodes that start together expire together. A running node keeps the lifetime with which it started.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/expiration/controller.go
    """
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
    """The budgets change within which Karpenter replaces nodes, or the hours in which Karpenter replaces none.

    The budgets apply from the sync on, also to nodes that have drifted before. The change itself replaces no node. A
    budget of 0 without reasons also keeps empty nodes, which cost.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go (Budget),
    pkg/controllers/disruption/emptiness.go
    """
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
    """Karpenter also removes nodes of a node pool with running pods, to use fewer or cheaper nodes.

    With WhenEmpty, Karpenter removes only empty nodes. With other policies, Karpenter evicts pods that fit on other
    nodes, except pods with karpenter.sh/do-not-disrupt. Karpenter does not consolidate a static NodePool.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/consolidation.go, pkg/apis/v1/nodepool.go
    (Replicas)
    """
    for policy in changed((pair for pair in change.pools if not pair.is_static), CONSOLIDATION):
        if policy.before == "WhenEmpty":
            reason = f"(consolidation {policy.after} instead of {policy.before})"
            yield policy.raised(f"Karpenter moves pods to use fewer nodes {reason}")


@impact("IMP132", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go, ConsolidateAfter")
def idle_time_changes(change: Change) -> Impacts:
    """Empty nodes of a node pool end after another time.

    A longer time costs idle nodes. A shorter time makes the next workload wait for a new node. Nodes of a static
    NodePool stay when they are empty.
    """
    for time in changed((pair for pair in change.pools if not pair.is_static), IDLE_TIME):
        yield time.raised(f"empty nodes end after {time.after} instead of {time.before}")
