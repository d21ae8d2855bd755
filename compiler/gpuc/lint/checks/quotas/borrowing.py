"""Checks borrowing limits without a lender, limits and weights that Kueue refuses, and resources without quota.

A spec can also contain some of these mistakes. For such mistakes, the checks use the rules of `gpuc.rules`.
"""

from fractions import Fraction

from msgspec.structs import replace

from gpuc.cluster.flavors import FlavorCapacity
from gpuc.cluster.queue import Member, Tree, from_objects
from gpuc.diagnostics.finding import Path, Severity
from gpuc.kubernetes.amounts import rounded
from gpuc.lint.checks import QUEUES_AND_POOLS, Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.rules.queues.borrowing import (
    borrowed_beyond_lent,
    cohort_shares_nothing,
    lends_more_than_quota,
    lent_above_quota,
    shared_nothing,
    unreachable_borrowing,
)
from gpuc.rules.queues.cluster_queues import resource_without_quota, uncovered

LIMIT_WITHOUT_COHORT = rule_of("QTA006")
BELOW_ZERO = rule_of("QTA008")
WEIGHT_OF_ZERO = rule_of("QTA010")
_TOO_SMALL = Fraction(1, 10**9)
"""The largest weight above zero that Kueue refuses."""


@check(
    LIMIT_WITHOUT_COHORT, BELOW_ZERO, WEIGHT_OF_ZERO, lends_more_than_quota.rule, cohort_shares_nothing.rule,
    resource_without_quota.rule, unreachable_borrowing.rule, kinds=QUEUES_AND_POOLS,
)  # fmt: skip
def borrowing(objects: ObjectSet) -> Findings:
    """Yields findings about the limits and weights of ClusterQueues and Cohorts, and about resources without quota."""
    for tree in objects.once(from_objects).trees:
        yield from _of_tree(objects.once(FlavorCapacity), tree)


def _of_tree(pools: FlavorCapacity, tree: Tree) -> Findings:
    is_complete = pools.objects.is_complete
    knows_lenders = is_complete or len(tree.queues) > 1
    for member in tree.members:
        yield from _weight(member)
        yield from _refused(member)
        if member.is_queue:
            yield from (found.on_object(lends_more_than_quota.rule) for found in lent_above_quota(member))
        if knows_lenders and member.parent is not None:
            yield from _no_lender(member, is_complete=is_complete)
    closed = pools.closed
    if not any(flavor in closed for queue in tree.queues for flavor, _ in queue.quotas) and (
        found := shared_nothing(tree)
    ):
        yield found.on_object(cohort_shares_nothing.rule)
    if is_complete or tree.root.is_queue:
        for queue in tree.queues:
            yield from (found.on_object(resource_without_quota.rule) for found in uncovered(queue, closed))


def _refused(member: Member) -> Findings:
    for key, quota in member.quotas.items():
        limits = (("borrowingLimit", quota.borrow), ("lendingLimit", quota.lend))
        for field, value in (("nominalQuota", quota.nominal), *limits):
            if value is not None and value < 0:
                text = f"{rounded(key[1], value)} is negative"
                yield member.finding(BELOW_ZERO, key, field, text)
        for field, value in limits if member.parent is None else ():
            if value is not None:
                name = "cohortName" if member.is_queue else "parentName"
                text = f"spec.{name} is not set: no cohort shares {key[1]} of ResourceFlavor {key[0]} with this object"
                yield member.finding(LIMIT_WITHOUT_COHORT, key, field, text, on_key=True)


def _no_lender(member: Member, *, is_complete: bool) -> Findings:
    """Yields an error for a borrowing limit without a lender; a warning if other files may have a lender.

    A limit can be higher than the quota that other queues lend. This is no mistake in objects, because other queues can
    be added later.
    """
    rule = unreachable_borrowing.rule
    for found in borrowed_beyond_lent(member, [key for key in member.quotas if member.lent(key) <= 0]):
        yield found.on_object(rule if is_complete else replace(rule, severity=Severity.WARNING))


def _weight(member: Member) -> Findings:
    if member.manifest is None:
        return
    path: Path = ("spec", "fairSharing", "weight")
    weight = member.weight
    if weight is not None and (weight < 0 or 0 < weight <= _TOO_SMALL):
        yield ObjectFinding(BELOW_ZERO, member.manifest, path, "a weight must be 0 or more than 1n")
    elif weight == 0 and member.parent is not None:
        text = "the weight is 0, so any borrowed quota counts as an infinite share of the cohort"
        yield ObjectFinding(WEIGHT_OF_ZERO, member.manifest, path, text)
