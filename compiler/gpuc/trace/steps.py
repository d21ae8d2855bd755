"""The steps of a trace and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.manifest.manifest import Manifest


class Stage(Enum):
    """The checks that a pod has to pass, in the order of the cluster."""

    API = "API server"
    POLICY = "policies"
    LOCAL_QUEUE = "local queue"
    CLUSTER_QUEUE = "cluster queue"
    PRIORITY = "priority class"
    RESOURCES = "resources"
    FLAVOR = "flavor"
    QUOTA = "quota"
    TOPOLOGY = "topology"
    NAMESPACE = "namespace limits"
    NODE_POOL = "node pool"
    NODE = "instance type"
    STARTUP = "startup taints"


class Step(NamedTuple):
    """The result of one stage for one pod set."""

    stage: Stage
    verdict: Literal["passed", "failed", "bypassed", "unknown"]
    message: str
    """The reason for the verdict. A refusal by Kueue has the message of Kueue."""
    manifest: Manifest | None = None
    """The object that decides; None if the object is missing."""
    path: Path = ()
    """The path in the object that decides; empty for the complete object."""
    pods: str = ""
    """The name of the pod set; empty if the step is about the complete workload."""
    fix: str = ""
    """A change with which the step passes; empty if the objects do not show one."""

    @property
    def failed(self) -> bool:
        """Whether the workload does not pass the stage."""
        return self.verdict == "failed"


@dataclass
class Placement:
    """The flavors and nodes of one pod set."""

    flavors: tuple[str, ...] = ()
    borrowed: Amounts = field(default_factory=dict)
    """The usage beyond the nominal quota of the ClusterQueue."""
    pools: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    nodes: int | None = None
    """The number of nodes; None if the number is unknown or depends on the instance type."""


@dataclass
class TraceResult:
    """All steps up to the first failure, and the placement of the pods."""

    steps: list[Step] = field(default_factory=list)
    placements: dict[str, Placement] = field(default_factory=dict)
    """The placements by the name of the pod set."""
    is_static: bool = False
    """Whether all node pools that accept the pods are static, so that Karpenter starts no nodes for the pods."""
    bypass: str = ""
    """The reason why Kueue does not manage the workload; empty if Kueue manages the workload."""
    counted_by: str = ""
    """The ResourceQuota that counts the GPUs of a workload outside of Kueue; empty if no ResourceQuota counts them."""

    @property
    def failure(self) -> Step | None:
        """The failed step; None if the pods get nodes."""
        return next((step for step in self.steps if step.failed), None)

    @property
    def verdict(self) -> Literal["admitted", "refused", "pending"]:
        """The outcome: the pods get nodes (admitted), the workload is refused, or its pods are pending forever."""
        failure = self.failure
        if failure is None:
            return "admitted"
        return "pending" if failure.stage in (Stage.NODE_POOL, Stage.NODE, Stage.STARTUP) else "refused"

    @property
    def by(self) -> str:
        """The component that refuses the workload or finds no node for the pods; empty if the pods get nodes."""
        failure = self.failure
        if failure is None:
            return ""
        if self.verdict == "pending":
            return "scheduler" if self.is_static else "Karpenter"
        components = {Stage.API: "API server", Stage.POLICY: "policy", Stage.NAMESPACE: "quota"}
        return components.get(failure.stage, "Kueue")
