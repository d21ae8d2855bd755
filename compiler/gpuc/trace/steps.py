"""The steps of a walk, and how a walk ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.manifest.manifest import Manifest


class Stage(Enum):
    """What has to let a pod through, in the order in which it gets there."""

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
    """One of them, for one pod set."""

    stage: Stage
    verdict: Literal["passed", "failed", "bypassed", "not judged"]
    message: str
    """What was seen, for people; a refusal of Kueue in Kueue's words."""
    manifest: Manifest | None = None
    """The object that decides; None where it is one that the tree lacks."""
    path: Path = ()
    pods: str = ""
    """The pod set; empty where the step is about all of the work."""
    fix: str = ""
    """What to change, where the objects show it."""

    @property
    def failed(self) -> bool:
        return self.verdict == "failed"


@dataclass
class Placement:
    """Where the pods of one pod set run."""

    flavors: tuple[str, ...] = ()
    borrowed: Amounts = field(default_factory=dict)
    pools: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    nodes: int | None = None
    """None where it depends on the type that is taken, or is not known."""


@dataclass
class TraceResult:
    """All steps up to the first that fails, and where the pods run."""

    steps: list[Step] = field(default_factory=list)
    placements: dict[str, Placement] = field(default_factory=dict)
    """By pod set."""
    is_static: bool = False
    """Whether the nodes in question exist before any pod: then the scheduler decides, else Karpenter does."""
    bypass: str = ""
    """Why Kueue leaves the work alone; empty where it decides about it."""

    @property
    def failure(self) -> Step | None:
        """The step that fails; None where the work gets its nodes."""
        return next((step for step in self.steps if step.failed), None)

    @property
    def verdict(self) -> Literal["admitted", "refused", "pending"]:
        """What becomes of the work: nodes, a refusal, or pods that wait for ever."""
        failure = self.failure
        if failure is None:
            return "admitted"
        return "pending" if failure.stage in (Stage.NODE_POOL, Stage.NODE, Stage.STARTUP) else "refused"

    @property
    def by(self) -> str:
        """Who refuses it or keeps it waiting; empty where nobody does."""
        failure = self.failure
        if failure is None:
            return ""
        if self.verdict == "pending":
            return "scheduler" if self.is_static else "Karpenter"
        others = {Stage.API: "API server", Stage.POLICY: "policy", Stage.NAMESPACE: "quota"}
        return others.get(failure.stage, "Kueue")
