"""Nodes that end while their pods may not: runs longer than the life of a node, and budgets that allow no eviction.

An expired node is drained at once. The drain waits for pods with karpenter.sh/do-not-disrupt and for budgets that allow
no eviction, up to terminationGracePeriod, after which Karpenter deletes all pods of the node.

Source: sigs.k8s.io/karpenter v1.14.1 pkg/controllers/nodeclaim/expiration, pkg/controllers/node/termination/terminator;
k8s.io/kubernetes v1.35.4 pkg/controller/disruption/disruption.go (getExpectedPodCount), pkg/controller/job
"""

from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool, named
from gpuc.cluster.pool_fields import LIFETIME
from gpuc.kubernetes.duration import format_duration, parse_duration
from gpuc.kubernetes.node_pool import NODE_POOL, is_well_known, normal
from gpuc.kubernetes.selector import matches
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, count_or, dig, home_namespace, labels
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import selector
from gpuc.trace.user_objects import HPA, KEDA, scales

ENDS_EARLY = rule_of("SCD011")
NO_EVICTION = rule_of("SCD012")
_DEADLINE = "activeDeadlineSeconds"
_PROTECTED = "karpenter.sh/do-not-disrupt"


@check(ENDS_EARLY, NO_EVICTION)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about runs that expiring nodes end, and budgets that never let the pods of such nodes go."""
    index = objects.once(Index)
    if not index.nodes.pools:
        return
    for pods in index.pods:
        yield from _run(pods, index)
    for budget in objects.of("policy", "PodDisruptionBudget"):
        yield from _budget(budget, index)


def own_pools(pods: Pods, index: Index) -> list[Pool]:
    """Returns the node pools that pods select by a label that only node pools of the input set."""
    wanted = labels(dig(pods.spec, "nodeSelector"))
    keys = [key for key in map(normal, wanted) if key == NODE_POOL or not is_well_known(key)]
    return index.nodes.matching(wanted) if any(key in index.nodes.values for key in keys) else []


def _run(pods: Pods, index: Index) -> Findings:
    document = pods.manifest.document()
    job = dig(document, *pods.path[:-1]) if pods.path else None
    limits = [dig(job, _DEADLINE), dig(pods.spec, _DEADLINE)]
    longest = min((limit for limit in limits if isinstance(limit, int)), default=0)
    is_protected = str(dig(pods.template, "metadata", "annotations", _PROTECTED)) == "true"
    if not longest or not (is_protected or (dig(job, "backoffLimit") == 0 and dig(job, "podFailurePolicy") is None)):
        return
    pools = own_pools(pods, index)
    ends = [_end(pool, is_protected=is_protected) for pool in pools]
    if not ends or any(end is None or end >= longest for end in ends):
        return
    grace = " and of terminationGracePeriod" if is_protected else ""
    name, run = format_duration(ends[0] or 0), format_duration(longest)
    message = f"the nodes end {name} after their start, and {pods.manifest} may run {run}"
    message += f"; {_PROTECTED} holds the pods only up to the end of expireAfter{grace}" if grace else ""
    yield ObjectFinding(ENDS_EARLY, pools[0].manifest, pools[0].place(LIFETIME), message)


def _end(pool: Pool, *, is_protected: bool) -> int | None:
    """Returns after how many seconds the pods of a node end at the latest; None if they never have to end."""
    if is_protected and not pool.grace:
        return None
    try:
        return parse_duration(pool.lifetime) + (parse_duration(pool.grace) if is_protected else 0)
    except ValueError:
        return None  # Never, or a value that the API server refuses


def _budget(budget: Manifest, index: Index) -> Findings:
    raw = dig(budget.body, "spec", "selector")
    wanted, namespace = selector(raw), home_namespace(budget)
    protected = [row for row in index.pods if home_namespace(row.manifest) == namespace and matches(wanted, row.labels)]
    if not isinstance(raw, dict) or not raw or not protected or not all(_is_fixed(row, index) for row in protected):
        return
    count = sum(count_or(dig(row.manifest.body, "spec", "replicas"), 1) for row in protected)
    field = next(_blocking(dig(budget.body, "spec"), count), "")
    pools = [pool for row in protected for pool in own_pools(row, index)]
    if count and field and pools and all(pool.lifetime != "Never" and not pool.grace for pool in pools):
        owners = ", ".join(str(row.manifest) for row in protected)
        message = (
            f"{owners} has {count} replica{'s' if count > 1 else ''}, so the budget never allows an eviction, and "
        )
        message += f"expired nodes of {named(pools[:1])} (expireAfter {pools[0].lifetime}) drain for ever"
        yield ObjectFinding(NO_EVICTION, budget, ("spec", field), message)


def _is_fixed(pods: Pods, index: Index) -> bool:
    """Returns whether the number of pods is the replicas of their object, without an autoscaler in the input."""
    scalers = (scaler for kind in (HPA, KEDA) for scaler in index.tree.of(*kind))
    return pods.record.traits.is_scaled and not any(scales(scaler, pods.manifest) for scaler in scalers)


def _blocking(spec: Any, count: int) -> Iterator[str]:
    """Yields the field with which a budget allows no eviction although all pods are healthy."""
    for field, most in (("minAvailable", count), ("maxUnavailable", 0)):
        value = dig(spec, field)
        share = value[:-1] if isinstance(value, str) and value.endswith("%") else ""
        number = -(-int(share) * count // 100) if share.isdecimal() else value
        is_count = isinstance(number, int) and not isinstance(number, bool)
        if is_count and (number >= most if field == "minAvailable" else number <= most):
            yield field
