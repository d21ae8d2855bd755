"""Changes of weights in fair sharing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.plan.change import Change, Pair
from gpuc.plan.quota_changes import queue_name


class WeightChange(NamedTuple):
    """Another weight of a queue or cohort."""

    pair: Pair
    subject: str
    before: float
    after: float


def weight_changes(change: Change) -> Iterator[WeightChange]:
    """Yields each weight that differs, once for all ClusterQueues of a queue. A change of fair sharing is left out."""
    seen = set()
    for kind in ("ClusterQueue", "Cohort"):
        for pair in change.pairs(GROUP, kind):
            before, after = (quantity(value) for value in pair.values("spec", "fairSharing", "weight"))
            subject = f"queue {queue_name(pair)}" if kind == "ClusterQueue" else f"cohort {pair.name}"
            if before is not None and after is not None and before != after and subject not in seen:
                seen.add(subject)
                yield WeightChange(pair, subject, *(_number(float(value)) for value in (before, after)))


def _number(value: float) -> float:
    return int(value) if value.is_integer() else value
