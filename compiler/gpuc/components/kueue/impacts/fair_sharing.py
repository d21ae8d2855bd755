"""Impacts of a change on fair sharing, with which Kueue divides idle quota by weight."""

from collections.abc import Iterator

from gpuc.components.kueue.impacts.configuration import configuration_changes
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.plan.change import Change, ChangedValue, changed
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.quota_changes import parents


@impact("IMP232", Level.DISRUPTS)
def fair_sharing_changes(change: Change) -> Impacts:
    """Kueue starts or stops to divide idle quota by weight."""
    for found in configuration_changes(change):
        before, after = map(bool, found.values("fairSharing"))
        message = "idle quota is not divided by weight any more: the oldest workload gets it"
        if after:
            message = "idle quota is divided by weight: queues with a large share of borrowed quota can lose it"
        details = ("preemption for reclaimed quota follows the new rules as soon as Kueue has restarted",)
        if before != after:
            yield found.raised(message, "fairSharing", details=details)


@impact("IMP231", Level.RESTRICTS)
def fair_share_grows(change: Change) -> Impacts:
    """The weight of a queue or cohort in fair sharing grows."""
    for weight in _weight_changes(change):
        if weight.after > weight.before:
            span = f"from {weight.before} to {weight.after}"
            yield weight.raised(f"weight in fair sharing grows {span}: other queues get less idle quota")


@impact("IMP230", Level.RESTRICTS)
def fair_share_shrinks(change: Change) -> Impacts:
    """The weight of a queue or cohort in fair sharing falls."""
    for weight in _weight_changes(change):
        if weight.after < weight.before:
            details = (
                "other queues that may reclaim quota can preempt workloads that run with borrowed quota and are above "
                "the new share",
            )
            span = f"from {weight.before} to {weight.after}"
            yield weight.raised(f"weight in fair sharing falls {span}: it gets less idle quota", details)


_WEIGHT: Path = ("spec", "fairSharing", "weight")
_DEFAULT_WEIGHT = "1"
"""The weight of a queue or cohort without a weight.

Source: kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, parseFairWeight
"""


def _weight_changes(change: Change) -> Iterator[ChangedValue]:
    """Yields the numbers of each changed weight. The result is empty if fair sharing itself is switched on or off.

    The weight of a ClusterQueue has an effect only in a cohort, and the weight of a cohort only below a parent.
    """
    if any(len(set(map(bool, found.values("fairSharing")))) == 2 for found in configuration_changes(change)):
        return
    pairs = (pair for kind in ("ClusterQueue", "Cohort") for pair in change.pairs(GROUP, kind) if all(parents(pair)))
    for found in changed(pairs, _WEIGHT, _DEFAULT_WEIGHT):
        before, after = quantity(found.before), quantity(found.after)
        if before is not None and after is not None and before != after:
            yield found._replace(before=_number(float(before)), after=_number(float(after)))


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value
