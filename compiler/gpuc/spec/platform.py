"""Platform settings: releases, delivery, job frameworks, policies, NCCL profiles and observability."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gpuc.spec.base import Bytes, LabelValue, Name, Shorthand, SpecModel

Stage = Literal["dryrun", "warn", "deny"]

NamespaceName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]


class Releases(Shorthand):
    """The versions of components: a tested set, and versions that replace versions of the set."""

    short_for: ClassVar[str] = "set"

    set: Annotated[str, Field(pattern=r"^\d{4}\.\d{2}$")]
    """The name of the tested set: year and month, for example 2026.08."""

    components: dict[Name, Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]] = {}
    """Chart versions by component, instead of the versions of the set."""


OWN_SERVER = "https://kubernetes.default.svc"
"""The URL that Argo CD uses for the API server of the cluster in which Argo CD runs."""
OWN_NAME = "in-cluster"
"""The name that Argo CD uses for the cluster in which Argo CD runs."""


class Destination(SpecModel):
    """The cluster to which Argo CD applies the output, and the namespace of Argo CD."""

    server: Annotated[str | None, Field(pattern=r"^https://[A-Za-z0-9.:/_-]+$")] = None
    """URL of the API server in Argo CD. https://kubernetes.default.svc is the cluster in which Argo CD runs."""

    name: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9./:_-]*[A-Za-z0-9])?$", max_length=253)] = None
    """Name of the cluster in Argo CD, instead of the URL. in-cluster is the cluster in which Argo CD runs."""

    namespace: NamespaceName
    """The namespace in which Argo CD runs."""

    @model_validator(mode="after")
    def _names_one_cluster(self) -> Self:
        if (self.server is None) == (self.name is None):
            raise ValueError("write either server or name")
        return self

    @property
    def is_own_cluster(self) -> bool:
        """Whether Argo CD runs in the cluster to which Argo CD applies the output."""
        return self.server == OWN_SERVER or self.name == OWN_NAME


class Delivery(SpecModel):
    """Where Argo CD finds the output, and how Argo CD applies it to the cluster."""

    repo: Annotated[str, Field(pattern=r"^(https://|ssh://|git@)[A-Za-z0-9@:/._-]+$")]
    """The URL of the Git repository that contains out/."""

    revision: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9/._-]*$")]
    """The branch or tag from which Argo CD reads the output."""

    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9/._-]*$")]
    """The path of out/ in the repository."""

    destination: Destination
    """The cluster to which Argo CD applies the output."""

    prune: Literal["never", "confirm", "automatic"]
    """How the objects of removed pools, queues and tenants are deleted. Argo CD always prunes stateless components.

    never: Argo CD deletes no objects of removed elements. You delete these objects. gpuc does not check removals.
    confirm: a removal needs two commits. The first commit marks the element as `leaving`. After the second commit Argo
    CD deletes the NodePool and RBAC objects of the element. You delete the objects that contain workloads or data. gpuc
    refuses a removal without the first commit.
    automatic: at the next sync Argo CD deletes all objects of removed elements, with their nodes and workloads. gpuc
    does not check removals.
    """


Framework = Literal[
    "batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "kubeflow.org/mpijob",
    "kubeflow.org/pytorchjob", "ray.io/rayjob", "ray.io/raycluster", "pod", "deployment", "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
]  # fmt: skip
"""A kind of workloads that Kueue manages, as Kueue names its integration."""
ServiceAccount = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")]
"""A ServiceAccount as namespace/name."""


class Kueue(SpecModel):
    """Settings of Kueue: the kinds of workloads that Kueue manages, and their controllers."""

    frameworks: Annotated[list[Framework], Field(min_length=1)]
    """The kinds of workloads that Kueue manages."""

    controllers: dict[Framework, ServiceAccount] = {}
    """The ServiceAccount of the controller of a framework. Default: the ServiceAccount of upstream's manifests."""

    start_attempts: Annotated[int, Field(ge=1, le=100)] = 6
    """How often Kueue starts a workload whose pods do not become ready in time.

    After the last attempt Kueue deactivates the workload, which then uses no nodes. Each attempt can hold the nodes of
    the workload for the time limit `waitForPodsReady.timeout`. The attempts also include restarts after the loss of a
    node, if the new node is late.
    """


class NodeAgent(SpecModel):
    """A DaemonSet that gpuc does not install, and what a pod of the DaemonSet requests."""

    nodes: Literal["all", "gpu", "efa"] = "all"
    """The nodes on which the DaemonSet runs."""

    cpu: Annotated[str, Field(pattern=r"^\d{1,6}m$")]
    """The CPU request of all containers of a pod, in millicores, for example 100m."""

    memory: Bytes
    """The memory request of all containers of a pod."""


class Policy(Shorthand):
    """The stage and the settings of an admission policy."""

    model_config = ConfigDict(extra="allow")  # rule POL003 checks the settings

    short_for: ClassVar[str] = "stage"

    stage: Stage | None = None
    """dryrun reports violations, warn also warns the user, deny refuses the object. Default: stage of `default`."""


class NcclProfile(SpecModel):
    """Environment variables for NCCL on one fabric."""

    fabric: Literal["efa"]
    """The fabric for which the variables are written."""

    debug: Literal["VERSION", "WARN", "INFO", "TRACE"] = "WARN"
    """The value of NCCL_DEBUG."""

    env: dict[
        Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")],
        Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")],
    ] = {}
    """Other environment variables by name."""


class Nccl(SpecModel):
    """Environment variables for NCCL."""

    profiles: dict[Name, NcclProfile] = {}
    """Profiles by name."""


class Prometheus(SpecModel):
    """The Prometheus instance of the cluster."""

    release: LabelValue
    """The value of the label release by which Prometheus selects monitors and rules."""


class Alerts(SpecModel):
    """Labels of alerts."""

    team: LabelValue
    """The value of the label team of every alert, by which Alertmanager can select a receiver."""


class Observability(SpecModel):
    """Metrics and alerts."""

    namespace: NamespaceName
    """The namespace of Prometheus."""

    prometheus: Prometheus
    """The Prometheus instance of the cluster."""

    alerts: Alerts
    """Labels of alerts."""
