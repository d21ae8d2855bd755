"""Checks for nodes that end before their pods, and for PodDisruptionBudgets that never allow an eviction.

The first check compares the time that a pod may run with the lifetime of its node. The second check finds
PodDisruptionBudgets that allow no eviction although all pods are healthy.

Karpenter drains an expired node at once. The drain waits for pods with the annotation karpenter.sh/do-not-disrupt, and
for PodDisruptionBudgets that allow no eviction. The drain waits at most for terminationGracePeriod. Then Karpenter
deletes all pods of the node.
"""

import re
from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool, named
from gpuc.cluster.pool_fields import LIFETIME
from gpuc.cluster.pools import Pools
from gpuc.kubernetes.duration import format_duration, parse_duration
from gpuc.kubernetes.node_pool import DO_NOT_DISRUPT, NODE_POOL, is_well_known, normal
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


@check(ENDS_EARLY, NO_EVICTION)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about pods that may run longer than their nodes, and budgets that allow no eviction."""
    index = objects.once(Index)
    for pods in index.pods if index.nodes.pools else ():
        yield from _run(pods, index)
    for budget in objects.of("policy", "PodDisruptionBudget") if index.nodes.pools else ():
        yield from _budget(budget, index)


def own_pools(pods: Pods, nodes: Pools) -> list[Pool]:
    """Returns the node pools of the input that pods select with a node selector; empty if other nodes may match too."""
    wanted = labels(dig(pods.spec, "nodeSelector"))
    keys = [key for key in map(normal, wanted) if key == NODE_POOL or not is_well_known(key)]
    return nodes.matching(wanted) if any(key in nodes.values for key in keys) else []


def _run(pods: Pods, index: Index) -> Findings:
    job = dig(pods.manifest.document(), *pods.path[:-1]) if pods.path else None
    limits = [limit for owner in (job, pods.spec) if isinstance(limit := dig(owner, "activeDeadlineSeconds"), int)]
    longest = min(limits, default=0)
    is_protected = str(dig(pods.template, "metadata", "annotations", DO_NOT_DISRUPT)) == "true"
    if not longest or not (is_protected or (dig(job, "backoffLimit") == 0 and dig(job, "podFailurePolicy") is None)):
        return
    pools = own_pools(pods, index.nodes)
    ends = [_end(pool, is_protected=is_protected) for pool in pools]
    if not ends or any(end is None or end >= longest for end in ends):
        return
    end, run = format_duration(ends[0] or 0), format_duration(longest)
    message = f"the nodes end {end} after their start, and {pods.manifest} may run {run}"
    message += f"; {DO_NOT_DISRUPT} holds the pods only up to terminationGracePeriod" if is_protected else ""
    yield ObjectFinding(ENDS_EARLY, pools[0].manifest, pools[0].place(LIFETIME), message)


def _end(pool: Pool, *, is_protected: bool) -> int | None:
    """Returns the seconds after which Karpenter ends the pods of a node at the latest; None without such a limit."""
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
    scalers = [*index.tree.of(*HPA), *index.tree.of(*KEDA)]
    is_scaled = any(scales(scaler, row.manifest) for row in protected for scaler in scalers)
    if not isinstance(raw, dict) or not raw or is_scaled or not all(row.record.traits.is_scaled for row in protected):
        return
    count = sum(count_or(dig(row.manifest.body, "spec", "replicas"), 1) for row in protected)
    field = next(_blocking(dig(budget.body, "spec"), count), "")
    pools = [pool for row in protected for pool in own_pools(row, index.nodes)]
    if count and field and pools and all(pool.lifetime != "Never" and not pool.grace for pool in pools):
        owners = ", ".join(str(row.manifest) for row in protected)
        message = f"the budget never allows an eviction, as {owners} has replicas: {count}. Expired nodes of "
        message += f"{named(pools[:1])} (expireAfter {pools[0].lifetime}) drain for ever"
        yield ObjectFinding(NO_EVICTION, budget, ("spec", field), message)


def _blocking(spec: Any, count: int) -> Iterator[str]:
    """Yields the field with which a budget allows no eviction although all pods are healthy."""
    for field in ("minAvailable", "maxUnavailable"):
        share = re.fullmatch(r"(\d{1,3})(%?)", str(dig(spec, field)), re.ASCII)
        number = -(-int(share[1]) * count // 100) if share and share[2] else int(share[1]) if share else -1
        if number >= count if field == "minAvailable" else number == 0:
            yield field
