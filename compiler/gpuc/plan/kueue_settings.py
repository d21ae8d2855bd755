"""The settings of Kueue and its queues before and after a change: its configuration, preemption and fair sharing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Raised
from gpuc.plan.quota_changes import parents, queue_name

VALUES: Path = ("managerConfig", "controllerManagerConfigYaml")
"""The path of the configuration in the values of the chart.

Source: kueue v0.19.2 charts/kueue/values.yaml
"""
FRAMEWORKS = ("integrations", "frameworks")
"""The path of the kinds of jobs in the configuration."""


class ConfigurationChange(NamedTuple):
    """Two different configurations."""

    pair: Pair
    """The Helm values of Kueue."""
    before: Any
    after: Any

    def raised(self, message: str, *path: str, details: Iterable[str] = ()) -> Raised:
        """Returns an impact of the change of a field."""
        return Raised("component kueue", message, self.pair.after, (*VALUES, *path), tuple(details))

    def frameworks(self, *, added: bool) -> list[str]:
        """Returns the kinds of jobs that Kueue begins to manage, or does not manage any more."""
        before, after = (value or () for value in self.values(*FRAMEWORKS))
        some, others = (after, before) if added else (before, after)
        return [name for name in some if name not in others]

    def values(self, *path: str) -> tuple[Any, Any]:
        """Returns the values at a path before and after the change; None where the path does not exist."""
        return dig(self.before, *path), dig(self.after, *path)


def configuration_changes(change: Change) -> Iterator[ConfigurationChange]:
    """Yields the configurations of Kueue, if both states have Kueue and the configurations differ."""
    pair = change.values_of("kueue")
    if pair and pair.changes(*VALUES):
        texts = zip((change.before, change.after), pair.values(*VALUES), strict=True)
        before, after = (document(state.objects, text) for state, text in texts)
        if before and after and before != after:
            yield ConfigurationChange(pair, before, after)


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
