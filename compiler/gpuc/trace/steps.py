"""The classes for the result of a trace: a Step is the result of one check, a Stage is a kind of check."""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Literal, NamedTuple

from msgspec import Struct, field

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.kubernetes.flavor import Attempt
from gpuc.manifest.manifest import Manifest

Component = Literal[
    "RBAC", "API server", "policy", "Pod Security", "quota", "Kueue", "scheduler", "Karpenter", "job controller", "user"
]
"""The component or the person that refuses a workload, or that keeps its pods pending."""


class Stage(Enum):
    """The kinds of checks that a pod has to pass, in their order, from the rights of the user to the node."""

    by: Component
    """The component that refuses a workload in the stage."""

    RIGHTS = "rights", "RBAC"
    API = "API server", "API server"
    POLICY = "policies", "policy"
    REPLICAS = "replicas"
    LOCAL_QUEUE = "local queue"
    CLUSTER_QUEUE = "cluster queue"
    PRIORITY = "priority class"
    RESOURCES = "resources"
    FLAVOR = "flavor"
    QUOTA = "quota"
    TOPOLOGY = "topology"
    START = "start"
    POD_API = "pod validation", "API server"
    POD_POLICY = "pod policies", "policy"
    POD_SECURITY = "Pod Security", "Pod Security"
    NAMESPACE = "namespace limits", "quota"
    NODE_POOL = "node pool"
    NODE = "node"
    STARTUP = "startup taints"
    SUSPENDED = "suspend"

    def __new__(cls, value: str, by: Component = "Kueue") -> "Stage":
        stage = object.__new__(cls)
        stage._value_, stage.by = value, by
        return stage


_AFTER_CREATION = (Stage.NODE_POOL, Stage.NODE, Stage.STARTUP, Stage.SUSPENDED)
"""The stages whose failure leaves the workload pending."""
NO_KUEUE = "the cluster has no Kueue"
"""The reason why Kueue does not manage a workload in a cluster without Kueue."""


Judgement = Literal["passed", "warned", "failed", "bypassed", "assumed", "unknown"]


class Step(NamedTuple):
    """The result of one check of a trace, for example of the quota, for one pod set or for the complete workload."""

    stage: Stage
    verdict: Judgement
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
    field: Path = ()
    """The path of the field of the workload that causes the verdict; empty if the field is unknown."""
    reason: str = ""
    """The reason in the result of the trace, as a sentence; empty for the reason of the stage."""
    has_next: bool = False
    """Whether the next step fails in the same stage too."""

    @property
    def failed(self) -> bool:
        """Whether the workload does not pass the check."""
        return self.verdict == "failed"


Steps = Iterator[Step]


def failed_if(is_sure: bool) -> Judgement:
    """Returns the verdict of a failed check: "failed" if the failure is sure, otherwise "unknown"."""
    return "failed" if is_sure else "unknown"


def all_failures(steps: Iterable[Step]) -> list[Step]:
    """Returns failed checks of one stage, marked so that the trace shows all these checks and not only the first."""
    failed = list(steps)
    return [*(step._replace(has_next=True) for step in failed[:-1]), *failed[-1:]]


class Placement(Struct):
    """The flavors and nodes that a trace finds for one pod set."""

    flavors: tuple[str, ...] = ()
    borrowed: Amounts = field(default_factory=dict)
    """The usage beyond the nominal quota of the ClusterQueue."""
    pools: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    nodes: int | None = None
    """The number of nodes; None if the number is unknown or depends on the instance type."""


class TraceResult(Struct):
    """The result of a trace: all checks up to the first stage with a failed check, and the nodes of the pods."""

    steps: list[Step] = field(default_factory=list)
    placements: dict[str, Placement] = field(default_factory=dict)
    """The placements by the name of the pod set."""
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    """Kueue's decisions about the flavors that it tries, by the name of the pod set."""
    requests: dict[str, Amounts] = field(default_factory=dict)
    """The requests of one pod by the name of the pod set, with the defaults of the cluster and of the namespace."""
    is_static: bool = False
    """Whether all node pools that accept the pods are static, so that Karpenter starts no nodes for the pods."""
    bypass: str = ""
    """The reason why Kueue does not manage the workload; empty if Kueue manages the workload."""
    counted_by: str = ""
    """The ResourceQuota that counts a workload outside of Kueue; empty if no ResourceQuota counts it."""

    @property
    def failure(self) -> Step | None:
        """The first failed check; None if no check fails."""
        return next((step for step in self.steps if step.failed), None)

    @property
    def unknown(self) -> list[Step]:
        """The checks whose outcome gpuc could not decide."""
        return [step for step in self.steps if step.verdict == "unknown"]

    @property
    def assumed(self) -> list[Step]:
        """The checks about objects that pods need but the input does not have, because users create such objects."""
        return [step for step in self.steps if step.verdict == "assumed"]

    @property
    def verdict(self) -> Literal["admitted", "refused", "pending", "not judged"]:
        """The outcome of the trace for the workload.

        admitted: the pods get nodes. refused: the API server refuses the workload or its pods, or Kueue does not admit
        the workload. pending: the pods are pending forever, or the workload starts no pods. not judged: no check fails,
        but gpuc could not decide all checks.
        """
        failure = self.failure
        if failure is None:
            return "not judged" if self.unknown else "admitted"
        return "pending" if failure.stage in _AFTER_CREATION else "refused"

    @property
    def by(self) -> Component | Literal[""]:
        """The program that refuses the workload or finds no node for the pods; empty if no check fails."""
        failure = self.failure
        if failure is None:
            return ""
        if failure.stage == Stage.SUSPENDED:
            return "user"
        if self.verdict == "pending":
            return "scheduler" if self.is_static else "Karpenter"
        return failure.stage.by
