"""Changes of the preemption of ClusterQueues, in the words of the spec."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised
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


def preemption_changes(change: Change, *, wider: bool) -> Iterator[Raised]:
    """Yields an impact for each policy of a ClusterQueue with which Kueue may preempt more workloads, or fewer."""
    for pair in change.kept(GROUP, "ClusterQueue"):
        for key, (place, which) in _FIELDS.items():
            path: Path = ("spec", "preemption", *place)
            before, after = (str(value or "Never") for value in pair.values(*path))
            if before == after or not {before, after} <= set(_POLICIES):
                continue
            text = f"preempt.{key} changes from {_WORDS[before]} to {_WORDS[after]}"
            effect = f"Kueue preempts {'no ' if after == 'Never' else ''}{which.format(_WHICH.get(after, ''))}"
            if (_POLICIES.index(after) > _POLICIES.index(before)) == wider:
                yield Raised(f"queue {queue_name(pair)}", f"{text}: {effect}", pair.after, path)
