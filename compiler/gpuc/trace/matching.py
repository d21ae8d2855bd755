"""Who selects whom: labels against selectors, taints against tolerations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuc.objects.object_set import dig, items, pairs

KEEPS_OFF = ("NoSchedule", "NoExecute")
"""Effects of taints that keep a pod off for ever; PreferNoSchedule is a wish."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What the value of one label has to be."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def takes(self, value: str | None) -> bool:
        """Whether a label with the value fulfils it; None is a label that is not there.

        Source: k8s.io/apimachinery v0.35 pkg/labels/selector.go, Requirement.Matches
        """
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt" | "Gte" | "Lte":
                return self._compares(value)
        return True

    def _compares(self, value: str | None) -> bool:
        if value is None or not value.isdigit() or not self.values or not self.values[0].isdigit():
            return False
        mine, bound = int(value), int(self.values[0])
        return {"Gt": mine > bound, "Lt": mine < bound, "Gte": mine >= bound, "Lte": mine <= bound}[self.operator]

    def __str__(self) -> str:
        return f"{self.key} {self.operator} {', '.join(self.values)}".strip()


def requirement(value: Any) -> Requirement:
    """A requirement as selectors and node pools write it."""
    values = tuple(str(each) for _, each in items(dig(value, "values")))
    return Requirement(str(dig(value, "key")), str(dig(value, "operator")), values)


def requirements(value: Any) -> tuple[Requirement, ...]:
    """All requirements of a list."""
    return tuple(requirement(each) for _, each in items(value))


def exact(labels: Any) -> tuple[Requirement, ...]:
    """The requirements that a map of labels stands for."""
    return tuple(Requirement(str(key), "In", (str(value),)) for key, value in pairs(labels))


def selects(selector: Any, labels: Mapping[str, Any]) -> bool:
    """Whether a LabelSelector matches; an empty one matches all, none at all matches nothing."""
    if not isinstance(selector, dict):
        return False
    wanted = (*exact(selector.get("matchLabels")), *requirements(selector.get("matchExpressions")))
    return all(each.takes(_value(labels, each.key)) for each in wanted)


def node_terms(pod: Any) -> list[tuple[Requirement, ...]]:
    """What a pod's nodeSelector and required node affinity ask of a node: one of these has to hold in full."""
    own = exact(dig(pod, "nodeSelector"))
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = [requirements(dig(term, "matchExpressions")) for _, term in items(dig(pod, *path))]
    return [(*own, *term) for term in terms] or [own]


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of nodes, and where in its object it stands."""

    key: str
    value: str
    effect: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


def taints(value: Any) -> Iterator[Taint]:
    """The taints of a list that keep pods off."""
    for index, each in items(value):
        taint = Taint(str(dig(each, "key")), str(dig(each, "value") or ""), str(dig(each, "effect")), index)
        if taint.effect in KEEPS_OFF:
            yield taint


def untolerated(found: Iterable[Taint], tolerations: Sequence[Any]) -> Taint | None:
    """The first taint that no toleration takes."""
    return next((taint for taint in found if not any(_tolerates(each, taint) for each in tolerations)), None)


def tolerations_of(value: Any) -> list[Any]:
    """The tolerations of a list that are maps."""
    return [each for _, each in items(value) if isinstance(each, dict)]


def _tolerates(toleration: Any, taint: Taint) -> bool:
    """Source: k8s.io/api v0.35 core/v1/toleration.go, ToleratesTaint."""
    if dig(toleration, "effect") not in (None, "", taint.effect):
        return False
    key = dig(toleration, "key")
    if key not in (None, "", taint.key):
        return False
    operator = dig(toleration, "operator")
    if operator == "Exists":
        return True
    return operator in (None, "", "Equal") and bool(key) and str(dig(toleration, "value") or "") == taint.value


def _value(labels: Mapping[str, Any], key: str) -> str | None:
    found = labels.get(key)
    return None if found is None else str(found)
