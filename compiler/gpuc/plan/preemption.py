"""Changes of the preemption of ClusterQueues, in the words of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change, Pair
from gpuc.plan.quota_changes import queue_name

_POLICIES = ("Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any")
"""The policies of Kueue; the first one preempts nothing.

Source: kueue v0.19.2 apis/kueue/v1beta2/clusterqueue_types.go, PreemptionPolicy and BorrowWithinCohortPolicy
"""
_WORDS = {
    "Never": "never",
    "LowerPriority": "lower-priority",
    "LowerOrNewerEqualPriority": "lower-or-newer",
    "Any": "any",
}
_FIELDS: dict[str, tuple[Path, str]] = {
    "withinQueue": (("withinClusterQueue",), "workloads{} of the queue"),
    "reclaim": (("reclaimWithinCohort",), "workloads{} of other queues that use quota of the queue"),
    "borrowing": (("borrowWithinCohort", "policy"), "workloads{} of other queues while the queue borrows"),
}
_WHICH = {
    "LowerPriority": " with lower priority",
    "LowerOrNewerEqualPriority": " with lower priority, or newer ones with the same priority,",
}


class PreemptionChange(NamedTuple):
    """Another policy of a queue for the preemption of workloads."""

    pair: Pair
    queue: str
    path: Path
    text: str
    """The change of the field, in the words of the spec."""
    effect: str
    """The workloads that Kueue may preempt after the change."""
    is_wider: bool
    """Whether Kueue may preempt more workloads than before."""


def preemption_changes(change: Change) -> Iterator[PreemptionChange]:
    """Yields each policy that differs, once for all ClusterQueues of a queue."""
    seen = set()
    for pair in change.pairs(GROUP, "ClusterQueue"):
        if pair.is_added or pair.is_removed:
            continue
        for key, (place, which) in _FIELDS.items():
            path: Path = ("spec", "preemption", *place)
            before, after = (str(value or "Never") for value in pair.values(*path))
            queue = queue_name(pair)
            if before == after or (queue, key) in seen or not {before, after} <= set(_POLICIES):
                continue
            seen.add((queue, key))
            text = f"preempt.{key} changes from {_WORDS[before]} to {_WORDS[after]}"
            effect = f"Kueue preempts {'no ' if after == 'Never' else ''}{which.format(_WHICH.get(after, ''))}"
            is_wider = _POLICIES.index(after) > _POLICIES.index(before)
            yield PreemptionChange(pair, queue, path, text, effect, is_wider)
