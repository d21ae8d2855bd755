"""Borrowing limits without a lender, limits and weights that Kueue refuses, and resources without quota.

Some mistakes can be in objects and in a gpuc spec. Their rules are in `gpuc.rules`, whose modules import the model.
The import takes longer than most runs of lint, so the checks import a rule only when there is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.cohort_trees import CohortTree
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.quota import Node

LIMIT_WITHOUT_COHORT = declare_rule(
    "QTA006",
    Severity.ERROR,
    "A borrowing or lending limit is set outside of any cohort.",
    "Kueue's webhook refuses the object.",
    "kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go (validateLimit)",
)
BELOW_ZERO = declare_rule(
    "QTA008",
    Severity.ERROR,
    "A quota or a fair sharing weight is negative, or a weight is too small.",
    "Kueue's webhook refuses the object.",
    "kueue v0.19.2 pkg/webhooks: clusterqueue_webhook.go (validateResourceQuantity), common.go (validateFairSharing)",
)
WEIGHT_OF_ZERO = declare_rule(
    "QTA010",
    Severity.WARNING,
    "A fair sharing weight is zero.",
    "Fair sharing divides the borrowed quota by the weight. The queue or cohort is therefore served last and preempted "
    "first.",
    "kueue v0.19.2 apis/kueue/v1beta2/fairsharing_types.go",
)
_TOO_SMALL = Fraction(1, 10**9)
"""The largest weight above zero that Kueue refuses."""


def borrowing(objects: ObjectSet, cohort: CohortTree) -> Iterator[ObjectFinding]:
    """Yields findings about limits and weights of the members of a cohort tree, and resources without quota."""
    knows_lenders = objects.is_complete or len(cohort.queues) > 1
    for member in cohort.members:
        yield from _weight(member)
        for key, quota in member.quotas.items():
            yield from _refused(member, key, quota)
            if knows_lenders and quota.borrow and member.parent is not None:
                yield from _no_lender(member, key, quota, objects.is_complete)
    closed = objects.once(FlavorCapacity).closed
    if not any(flavor in closed for queue in cohort.queues for flavor, _ in queue.quotas):
        yield from _shares_nothing(cohort)
    if objects.is_complete or cohort.root.is_queue:
        for queue in cohort.queues:
            yield from _no_quota(queue, closed)


def _refused(member: Node, key: Key, quota: Quota) -> Iterator[ObjectFinding]:
    assert member.manifest is not None, "a member with quotas has an object"
    limits = (("borrowingLimit", quota.borrow), ("lendingLimit", quota.lend))
    for field, value in (("nominalQuota", quota.nominal), *limits):
        if value is not None and value < 0:
            text = f"{rounded(key[1], value)} is negative"
            yield ObjectFinding(BELOW_ZERO, member.manifest, (*member.path(key), field), text)
    if member.parent is None:
        for field, value in limits:
            if value is not None:
                parent = "cohortName" if member.is_queue else "parentName"
                text = (
                    f"spec.{parent} is not set: no cohort shares {key[1]} of ResourceFlavor {key[0]} with this object"
                )
                yield ObjectFinding(
                    LIMIT_WITHOUT_COHORT, member.manifest, (*member.path(key), field), text, on_key=True
                )
    elif member.is_queue and quota.lend is not None and quota.lend > quota.nominal:
        from gpuc.rules.queues.lends_more_than_quota import lends_more_than_quota

        text = f"the limit is {rounded(key[1], quota.lend)}, but the nominal quota is {rounded(key[1], quota.nominal)}"
        yield ObjectFinding(lends_more_than_quota.rule, member.manifest, (*member.path(key), "lendingLimit"), text)


def _no_lender(member: Node, key: Key, quota: Quota, is_complete: bool) -> Iterator[ObjectFinding]:
    """Yields an error for a borrowing limit without a lender; a warning if other files may have a lender."""
    assert member.manifest is not None, "a member with quotas has an object"
    assert quota.borrow is not None
    if member.capacity(key) <= member.subtree.get(key, 0):
        from gpuc.rules.queues.unreachable_borrowing import unreachable_borrowing

        text = f"the ClusterQueue may borrow up to {rounded(key[1], quota.borrow)} of ResourceFlavor {key[0]}, but no "
        text += "ClusterQueue lends any"
        rule = (
            unreachable_borrowing.rule
            if is_complete
            else replace(unreachable_borrowing.rule, severity=Severity.WARNING)
        )
        yield ObjectFinding(rule, member.manifest, (*member.path(key), "borrowingLimit"), text)


def _shares_nothing(cohort: CohortTree) -> Iterator[ObjectFinding]:
    queues = cohort.queues
    if len(queues) < 2 or not any(queue.quotas for queue in queues):
        return
    if any(queue.capacity(key) > quota.nominal for queue in queues for key, quota in queue.quotas.items()):
        return
    manifest, path = cohort.root.manifest, ()
    if manifest is None:
        manifest, path = queues[0].manifest, ("spec", "cohortName")  # type: ignore[assignment]
    assert manifest is not None, "a queue has an object"
    from gpuc.rules.queues.cohort_shares_nothing import cohort_shares_nothing

    names = ", ".join(sorted(queue.name for queue in queues))
    text = f"no ClusterQueue of cohort {cohort.root.name} can borrow any quota: {names}"
    yield ObjectFinding(cohort_shares_nothing.rule, manifest, path, text)


def _weight(member: Node) -> Iterator[ObjectFinding]:
    if member.manifest is None:
        return
    path: Path = ("spec", "fairSharing", "weight")
    weight = quantity(dig(member.manifest.body, *path))
    if weight is not None and (weight < 0 or 0 < weight <= _TOO_SMALL):
        yield ObjectFinding(BELOW_ZERO, member.manifest, path, "a weight must be 0 or more than 1n")
    elif weight == 0 and member.parent is not None:
        text = "the weight is 0, so any borrowed quota counts as an infinite share of the cohort"
        yield ObjectFinding(WEIGHT_OF_ZERO, member.manifest, path, text)


def _no_quota(queue: Node, closed: frozenset[str]) -> Iterator[ObjectFinding]:
    assert queue.manifest is not None, "a queue has an object"
    reachable = {key[1] for key in queue.quotas if queue.capacity(key) > 0}
    reachable |= {resource for flavor, resource in queue.quotas if flavor in closed}
    for number, group in items(dig(queue.manifest.body, "spec", "resourceGroups")):
        for index, name in items(dig(group, "coveredResources")):
            if isinstance(name, str) and name not in reachable and any(name == key[1] for key in queue.quotas):
                from gpuc.rules.queues.resource_without_quota import resource_without_quota

                path = ("spec", "resourceGroups", number, "coveredResources", index)
                yield ObjectFinding(
                    resource_without_quota.rule,
                    queue.manifest,
                    path,
                    f"no flavor of the ClusterQueue has quota for {name}",
                )
