"""Changes of weights in fair sharing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.plan.change import Change, Pair
from gpuc.plan.kueue_configuration import configuration_changes
from gpuc.plan.quota_changes import parents, queue_name

_DEFAULT = Fraction(1)
"""The weight of a queue or cohort without a weight.

Source: kueue v0.19.2 pkg/cache/scheduler/fair_sharing.go, parseFairWeight
"""


class WeightChange(NamedTuple):
    """Another weight of a queue or cohort."""

    pair: Pair
    subject: str
    before: float
    after: float


def weight_changes(change: Change) -> Iterator[WeightChange]:
    """Yields each weight that differs. A change of fair sharing is left out.

    The weight of a ClusterQueue has an effect only in a cohort, and the weight of a cohort only below a parent.
    """
    if any(len(set(map(bool, found.values("fairSharing")))) == 2 for found in configuration_changes(change)):
        return
    for kind in ("ClusterQueue", "Cohort"):
        for pair in change.kept(GROUP, kind):
            weights = pair.values("spec", "fairSharing", "weight")
            before, after = (_DEFAULT if value is None else quantity(value) for value in weights)
            subject = f"queue {queue_name(pair)}" if kind == "ClusterQueue" else f"cohort {pair.name}"
            if all(parents(pair)) and before is not None and after is not None and before != after:
                yield WeightChange(pair, subject, *(_number(float(value)) for value in (before, after)))


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value
