"""Borrowing that cannot happen, limits that Kueue refuses, and quota that is nowhere.

What a spec can cause too has the fault of its rule. Rules import the model, which takes longer than most runs of
lint: they are imported when there is something to report.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.amounts import rounded
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.quota import Key, Quota
from gpuc.lint.checks.quotas.families import Family
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.closed_flavors import closed_flavors
from gpuc.trace.quota import Node

LIMIT_WITHOUT_COHORT = declare_rule(
    "QTA006",
    Severity.ERROR,
    "A quota outside of any cohort has a borrowing or lending limit.",
    "Kueue's webhook refuses the object.",
    "kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go (validateLimit)",
)
BELOW_ZERO = declare_rule(
    "QTA008",
    Severity.ERROR,
    "A quota or a weight is negative, or a weight is too small to count.",
    "Kueue's webhook refuses the object.",
    "kueue v0.19.2 pkg/webhooks: clusterqueue_webhook.go (validateResourceQuantity), common.go (validateFairSharing)",
)
WEIGHT_OF_ZERO = declare_rule(
    "QTA010",
    Severity.WARNING,
    "A weight of fair sharing is zero.",
    "Whatever it borrows counts as an infinite share: it is served last, and it is the first that gives way.",
    "kueue v0.19.2 apis/kueue/v1beta2/fairsharing_types.go",
)
_TOO_SMALL = Fraction(1, 10**9)
"""The largest weight above zero that Kueue refuses."""


def borrowing(tree: ObjectSet, family: Family) -> Iterator[ObjectFinding]:
    """All that is wrong with limits and weights of one family."""
    knows_lenders = tree.is_complete or len(family.queues) > 1
    for member in family.members:
        yield from _weight(member)
        for key, quota in member.quotas.items():
            yield from _refused(member, key, quota)
            if knows_lenders and quota.borrow and member.parent is not None:
                yield from _nobody_lends(member, key, quota, tree.is_complete)
    closed = closed_flavors(tree)
    if not any(flavor in closed for queue in family.queues for flavor, _ in queue.quotas):
        yield from _shares_nothing(family)
    if tree.is_complete or family.root.is_queue:
        for queue in family.queues:
            yield from _no_quota(queue, closed)


def _refused(member: Node, key: Key, quota: Quota) -> Iterator[ObjectFinding]:
    assert member.manifest is not None, "what has quotas has an object"
    limits = (("borrowingLimit", quota.borrow), ("lendingLimit", quota.lend))
    for field, value in (("nominalQuota", quota.nominal), *limits):
        if value is not None and value < 0:
            yield ObjectFinding(
                BELOW_ZERO, member.manifest, (*member.path(key), field), f"{rounded(key[1], value)} is below zero"
            )
    if member.parent is None:
        for field, value in limits:
            if value is not None:
                what = "cohortName" if member.is_queue else "parentName"
                text = f"set, but spec.{what} is not: there is nobody to share {key[1]} of flavor {key[0]} with"
                yield ObjectFinding(
                    LIMIT_WITHOUT_COHORT, member.manifest, (*member.path(key), field), text, on_key=True
                )
    elif member.is_queue and quota.lend is not None and quota.lend > quota.nominal:
        from gpuc.rules.queues.lends_more_than_quota import lends_more_than_quota

        text = f"lends {rounded(key[1], quota.lend)}, the nominal quota is {rounded(key[1], quota.nominal)}"
        yield ObjectFinding(lends_more_than_quota.rule, member.manifest, (*member.path(key), "lendingLimit"), text)


def _nobody_lends(member: Node, key: Key, quota: Quota, is_complete: bool) -> Iterator[ObjectFinding]:
    """A warning where other files may hold a queue that lends."""
    assert member.manifest is not None, "what has quotas has an object"
    assert quota.borrow is not None
    if member.capacity(key) <= member.subtree.get(key, 0):
        from gpuc.rules.queues.unreachable_borrowing import unreachable_borrowing

        text = f"up to {rounded(key[1], quota.borrow)} may be borrowed of flavor {key[0]}, and nobody lends any of it"
        rule = (
            unreachable_borrowing.rule
            if is_complete
            else replace(unreachable_borrowing.rule, severity=Severity.WARNING)
        )
        yield ObjectFinding(rule, member.manifest, (*member.path(key), "borrowingLimit"), text)


def _shares_nothing(family: Family) -> Iterator[ObjectFinding]:
    queues = family.queues
    if len(queues) < 2 or not any(queue.quotas for queue in queues):
        return
    if any(queue.capacity(key) > quota.nominal for queue in queues for key, quota in queue.quotas.items()):
        return
    at, path = family.root.manifest, ()
    if at is None:
        at, path = queues[0].manifest, ("spec", "cohortName")  # type: ignore[assignment]
    assert at is not None, "a queue has an object"
    from gpuc.rules.queues.cohort_shares_nothing import cohort_shares_nothing

    names = ", ".join(sorted(queue.name for queue in queues))
    text = f"no queue of cohort {family.root.name} can borrow anything: {names}"
    yield ObjectFinding(cohort_shares_nothing.rule, at, path, text)


def _weight(member: Node) -> Iterator[ObjectFinding]:
    if member.manifest is None:
        return
    path: Path = ("spec", "fairSharing", "weight")
    weight = quantity(dig(member.manifest.body, *path))
    if weight is not None and (weight < 0 or 0 < weight <= _TOO_SMALL):
        yield ObjectFinding(BELOW_ZERO, member.manifest, path, "a weight is 0 or more than 1n")
    elif weight == 0 and member.parent is not None:
        text = "whatever it borrows beside others of its cohort counts as an infinite share"
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
                    resource_without_quota.rule, queue.manifest, path, f"no flavor has any quota of {name}"
                )
