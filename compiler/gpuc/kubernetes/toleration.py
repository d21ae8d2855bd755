"""Whether tolerations let pods onto nodes with a taint.

Source: k8s.io/api v0.35 core/v1/toleration.go (ToleratesTaint); k8s.io/kubernetes v1.35 pkg/apis/core/validation
(ValidateTolerations) refuses what has no key and another operator than Exists. The operators Lt and Gt are an alpha
feature, TaintTolerationComparisonOperators, which is off: the API server refuses them, and they tolerate nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

KEEPS_OFF = ("NoSchedule", "NoExecute")
"""Effects of taints that keep pods off for ever; PreferNoSchedule is a preference."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of nodes."""

    key: str
    value: str
    effect: str
    index: int = 0
    """Its place in the list that has it."""

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"

    @property
    def keeps_off(self) -> bool:
        """Whether pods that do not tolerate it stay away, not only if they can."""
        return self.effect in KEEPS_OFF


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod; what is left out is empty."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether it tolerates a taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and bool(self.key) and self.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Whether one of some tolerations tolerates a taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps pods with these tolerations off; None where none does.

    Source: k8s.io/component-helpers v0.35 scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint)
    """
    return next((taint for taint in taints if taint.keeps_off and not tolerated(taint, tolerations)), None)
