"""Taints and tolerations: decides whether pods can be scheduled on nodes with a taint.

The API server rejects a toleration without a key whose operator is not Exists. Lt and Gt need the alpha feature
TaintTolerationComparisonOperators, which is off by default, so tolerations with them tolerate no taint here.

Source: k8s.io/api v0.35 core/v1/toleration.go (ToleratesTaint); k8s.io/kubernetes v1.35 pkg/apis/core/validation
(ValidateTolerations)
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

KEEPS_OFF = ("NoSchedule", "NoExecute")
"""The effects of taints that prevent scheduling. PreferNoSchedule does not prevent scheduling."""


class Taint(Struct, frozen=True):
    """A taint of a node."""

    key: str
    value: str
    effect: str = "NoSchedule"
    index: int = 0
    """The index of the taint in its list."""

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"

    def document(self) -> dict[str, str]:
        """Returns the taint as an entry of spec.taints of a node."""
        return {"key": self.key, "value": self.value, "effect": self.effect}

    def toleration(self) -> dict[str, str]:
        """Returns the toleration that matches only this taint."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}

    @property
    def keeps_off(self) -> bool:
        """Whether the taint keeps pods without a matching toleration off the node."""
        return self.effect in KEEPS_OFF


class Toleration(Struct, frozen=True):
    """A toleration of a pod. Missing fields are empty strings."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Returns whether the toleration tolerates a taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and bool(self.key) and self.value == taint.value


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Returns whether at least one of the tolerations tolerates the taint."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def toleration_fix(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> str:
    """Returns a fix that adds the missing tolerations to the pods; an empty text if no toleration is missing."""
    missing = [taint for taint in taints if taint.keeps_off and not tolerated(taint, tolerations)]
    rows = [f"{{key: {taint.key}, {_operator(taint)}, effect: {taint.effect}}}" for taint in missing]
    return f"add to the tolerations of the pods: {', '.join(rows)}" if rows else ""


def _operator(taint: Taint) -> str:
    return f'operator: Equal, value: "{taint.value}"' if taint.value else "operator: Exists"


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """Returns the first taint that keeps the pods off the node; None if the tolerations are enough.

    Source: k8s.io/component-helpers v0.35 scheduling/corev1/helpers.go (FindMatchingUntoleratedTaint)
    """
    return next((taint for taint in taints if taint.keeps_off and not tolerated(taint, tolerations)), None)


AGENTS = {
    "ebs.csi.aws.com/agent-not-ready": "the EBS CSI driver",
    "efs.csi.aws.com/agent-not-ready": "the EFS CSI driver",
    "fsx.csi.aws.com/agent-not-ready": "the FSx CSI driver",
    "node.cilium.io/agent-not-ready": "Cilium's agent",
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager",
    "s3.csi.aws.com/agent-not-ready": "the Mountpoint for S3 CSI driver",
}
"""Agents by the key of the taint that the agent removes.

Source: documentation of Cilium (taints and unmanaged pods); docs/install.md of kubernetes-sigs/aws-ebs-csi-driver and
of the repositories of the other CSI drivers
"""
_PREFIXES = {"readiness.k8s.io/": "the node readiness controller", "karpenter.sh/": "Karpenter"}


def agent_of(key: str) -> str:
    """Returns the name of the program that removes a taint when the node is ready; empty if gpuc knows none."""
    return AGENTS.get(key) or next((agent for prefix, agent in _PREFIXES.items() if key.startswith(prefix)), "")
