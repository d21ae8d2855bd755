"""Borrowing that cannot happen, limits that Kueue refuses, and resources without quota.

A finding that a spec can cause too has the id of its rule in `gpuc.rules`. These modules import the model, which takes
longer than most runs of lint, so a rule is imported when there is a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.cohort_trees import CohortTree
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.closed_flavors import closed_flavors
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
    "All borrowed quota counts as an infinite share: the queue or cohort is served last and preempted first.",
    "kueue v0.19.2 apis/kueue/v1beta2/fairsharing_types.go",
)
_TOO_SMALL = Fraction(1, 10**9)
"""The largest weight above zero that Kueue refuses."""


def borrowing(tree: ObjectSet, cohort: CohortTree) -> Iterator[ObjectFinding]:
    """Wrong limits and weights of the members of a cohort tree."""
    knows_lenders = tree.is_complete or len(cohort.queues) > 1
    for member in cohort.members:
        yield from _weight(member)
        for key, quota in member.quotas.items():
            yield from _refused(member, key, quota)
            if knows_lenders and quota.borrow and member.parent is not None:
                yield from _no_lender(member, key, quota, tree.is_complete)
    closed = closed_flavors(tree)
    if not any(flavor in closed for queue in cohort.queues for flavor, _ in queue.quotas):
        yield from _shares_nothing(cohort)
    if tree.is_complete or cohort.root.is_queue:
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
                what = "cohortName" if member.is_queue else "parentName"
                text = f"set without spec.{what}: there is no cohort to share {key[1]} of flavor {key[0]} with"
                yield ObjectFinding(
                    LIMIT_WITHOUT_COHORT, member.manifest, (*member.path(key), field), text, on_key=True
                )
    elif member.is_queue and quota.lend is not None and quota.lend > quota.nominal:
        from gpuc.rules.queues.lends_more_than_quota import lends_more_than_quota

        text = f"lends {rounded(key[1], quota.lend)}, the nominal quota is {rounded(key[1], quota.nominal)}"
        yield ObjectFinding(lends_more_than_quota.rule, member.manifest, (*member.path(key), "lendingLimit"), text)


def _no_lender(member: Node, key: Key, quota: Quota, is_complete: bool) -> Iterator[ObjectFinding]:
    """Borrowing without a lender; a warning where other files may have a queue that lends."""
    assert member.manifest is not None, "a member with quotas has an object"
    assert quota.borrow is not None
    if member.capacity(key) <= member.subtree.get(key, 0):
        from gpuc.rules.queues.unreachable_borrowing import unreachable_borrowing

        text = f"up to {rounded(key[1], quota.borrow)} of flavor {key[0]} may be borrowed, but no queue lends any"
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
    at, path = cohort.root.manifest, ()
    if at is None:
        at, path = queues[0].manifest, ("spec", "cohortName")  # type: ignore[assignment]
    assert at is not None, "a queue has an object"
    from gpuc.rules.queues.cohort_shares_nothing import cohort_shares_nothing

    names = ", ".join(sorted(queue.name for queue in queues))
    text = f"no queue of cohort {cohort.root.name} can borrow anything: {names}"
    yield ObjectFinding(cohort_shares_nothing.rule, at, path, text)


def _weight(member: Node) -> Iterator[ObjectFinding]:
    if member.manifest is None:
        return
    path: Path = ("spec", "fairSharing", "weight")
    weight = quantity(dig(member.manifest.body, *path))
    if weight is not None and (weight < 0 or 0 < weight <= _TOO_SMALL):
        yield ObjectFinding(BELOW_ZERO, member.manifest, path, "a weight must be 0 or more than 1n")
    elif weight == 0 and member.parent is not None:
        text = "all quota that it borrows in its cohort counts as an infinite share"
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
                    resource_without_quota.rule, queue.manifest, path, f"no flavor has quota for {name}"
                )
