"""Describes how Karpenter replaces nodes: how many at a time, when, and how long running pods keep a node.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/drift.go, staticdrift.go, types.go (NewCandidate)
"""

from collections.abc import Iterator, Sequence

from gpuc.cluster.pool import Pool as NodePool
from gpuc.cluster.pool_fields import NODES
from gpuc.kubernetes.amounts import CPU, quantity_text
from gpuc.kubernetes.duration import format_duration
from gpuc.model import Cluster
from gpuc.plan.change import Change, PoolPair
from gpuc.plan.pool_sizes import pool_of
from gpuc.substrates.eks.budgets import pace


def is_replaceable(pair: PoolPair) -> bool:
    """Returns whether the node limit of a NodePool allows the new node that replaces an old node.

    In a static NodePool, the new node starts before the old node ends. A leaving pool has the limit 0, so no new node
    starts.
    """
    limits = pair.new.limits if pair.new else {}
    if pair.new and pair.new.replicas is not None:
        return NODES not in limits or limits[NODES] > pair.new.replicas
    return 0 not in (limits.get(NODES), limits.get(CPU))


def replaced_words(nodes: str, pairs: Sequence[PoolPair], cluster: Cluster | None, misfits: Sequence[str] = ()) -> str:
    """Returns a text about drifted nodes, such as "all nodes are replaced, one at a time".

    Args:
        nodes: the nodes in words, for example "all nodes".
        misfits: which pods do not fit the new nodes, as in PoolDrift.
    """
    replaceable = [pair for pair in pairs if is_replaceable(pair)]
    if not replaceable:
        return f"{nodes} drift, and Karpenter replaces none of them"
    is_checked = misfits and not all(pair.is_static for pair in replaceable)
    fit = " if their pods fit the new nodes" if is_checked else ""
    full = "".join(f", but none {words}" for words in _full(replaceable))
    return f"{nodes} are replaced{fit}, {pace(replaceable[0].new, cluster)}{full}"


def _full(pairs: Sequence[PoolPair]) -> Iterator[str]:
    """Yields texts that say until when a smaller limit of a NodePool allows no new node.

    Karpenter does not count the drifted node, so an unchanged limit always leaves a place. It does not compare a static
    NodePool with this limit.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/helpers.go (SimulateScheduling),
    pkg/controllers/provisioning/scheduling/scheduler.go (addToNewNodeClaim, filterByRemainingResources)
    """
    for pair in pairs:
        if pair.is_static:
            continue
        of = f" of NodePool {pair.name}" if len(pairs) > 1 else ""
        smaller = smaller_limits(pair)
        if nodes := smaller.pop(NODES, None):
            yield f"while more than 1 node{of} runs" if nodes[1] == "1" else f"while more than {nodes[1]} nodes{of} run"
        elif smaller:
            texts = " and ".join(f"{name} {after}" for name, (_, after) in smaller.items())
            yield f"while the other nodes{of} leave no place in the limit {texts}"


def smaller_limits(pair: PoolPair) -> dict[str, tuple[str, str]]:
    """Returns the limits of a NodePool that a change makes smaller: the quantities before and after, by resource."""
    before, after = (pool.limits if pool else {} for pool in (pair.old, pair.new))
    return {
        name: (quantity_text(name, before[name]), quantity_text(name, count))
        for name, count in after.items()
        if name in before and count < before[name]
    }


def details(pairs: Sequence[PoolPair], change: Change, misfits: Sequence[str] = ()) -> Iterator[str]:
    """Yields sentences about the replacement of nodes: pods that do not fit, the order, the time, the grace periods.

    In a NodePool that is not static, Karpenter replaces a node only if all pods of the node fit other nodes.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/drift.go (AllNonPendingPodsScheduled),
    staticdrift.go
    """
    pool = pool_of(change.after.cluster, pairs[0].element)
    fixed = [pair for pair in pairs if not is_replaceable(pair)]
    static = [pair.name for pair in fixed if pair.is_static]
    if static:
        yield (
            f"the limit of the static NodePool {', '.join(static)} leaves no place for a new node: "
            f"delete its NodeClaims by hand, see clusters/{change.after.name or 'CLUSTER'}/README.md"
        )
    replaceable = [pair for pair in pairs if is_replaceable(pair)]
    constant = [pair.name for pair in replaceable if pair.is_static]
    if misfits and len(constant) < len(replaceable):
        yield f"a node with pods that {' or '.join(misfits)} stays until these pods change or end"
    if misfits and constant:
        yield (
            f"NodePool {', '.join(constant)} is static: its nodes are replaced also with such pods, which then stay "
            "pending"
        )
    if any(_full(replaceable)):
        yield "until then, a drifted node ends without a new node if it is empty, or if its pods fit on other nodes"
    if len(static) < len(fixed):
        yield "the pool starts no new node: a drifted node ends when it is empty, or when its pods fit on other nodes"
    if len(fixed) < len(pairs):
        yield "nodes without pods come first; a new node starts before an old node drains"
    if pool is not None and not fixed:
        yield f"a new node needs up to {pool.boot_minutes} minutes until its first pod starts"
    if len(pairs) > 1:
        yield f"the budgets apply to NodePool {' and NodePool '.join(pair.name for pair in pairs)} separately"
    yield grace_words(pairs[0], change)


def protected_pods_end(pool: NodePool) -> str:
    """Returns a clause: when pods with karpenter.sh/do-not-disrupt end, if Karpenter deletes their node anyway."""
    end = f"after at most {pool.grace}" if pool.grace else "when they have finished"
    return f"pods with karpenter.sh/do-not-disrupt end {end}"


def grace_words(pair: PoolPair, change: Change) -> str:
    """Returns a sentence: how long running pods keep a drifted node, by the grace period with which it started."""
    pool = pool_of(change.after.cluster, pair.element)
    if pair.old and pair.old.grace:
        end = "all its pods end, also those with karpenter.sh/do-not-disrupt"
        return f"a node drains for at most {pair.old.grace}, then {end}"
    if pool is not None and pool.keeps_runs and pool.spec.runs is not None:
        longest = format_duration(pool.spec.runs.longest)
        return f"a node with a run is replaced after the run ends (runs last at most {longest})"
    return "pods with karpenter.sh/do-not-disrupt and PodDisruptionBudgets that allow no eviction keep their node"
