"""What surrounds the pools: releases, delivery, job frameworks, policies, NCCL profiles and observability."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from gpuc.spec.base import LabelValue, Name, Shorthand, SpecModel

Stage = Literal["dryrun", "warn", "deny"]

NamespaceName = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=63)]


class Releases(Shorthand):
    """Which versions: a tested set, with single components overridden where needed."""

    short_for: ClassVar[str] = "set"

    set: Annotated[str, Field(pattern=r"^\d{4}\.\d{2}$")]
    """The tested set, by year and month."""

    components: dict[Name, Annotated[str, Field(pattern=r"^v?\d+\.\d+\.\d+$")]] = {}
    """Chart versions by component that differ from the set."""


OWN_SERVER = "https://kubernetes.default.svc"
"""The API server of the cluster that Argo CD runs in, as Argo CD names it."""
OWN_NAME = "in-cluster"
"""The name that Argo CD gives the cluster it runs in."""


class Destination(SpecModel):
    """Where Argo CD applies the output, and where Argo CD itself runs."""

    server: Annotated[str | None, Field(pattern=r"^https://[A-Za-z0-9.:/_-]+$")] = None
    """URL of the cluster's API server as Argo CD knows it; https://kubernetes.default.svc is Argo CD's own cluster."""

    name: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9./:_-]*[A-Za-z0-9])?$", max_length=253)] = None
    """Name of the cluster in Argo CD, in place of the URL; in-cluster is Argo CD's own cluster."""

    namespace: NamespaceName
    """The namespace that Argo CD runs in, in Argo CD's own cluster."""

    @model_validator(mode="after")
    def _names_one_cluster(self) -> Self:
        if (self.server is None) == (self.name is None):
            raise ValueError("it takes either server or name, exactly one of them")
        return self

    @property
    def is_own_cluster(self) -> bool:
        """Whether Argo CD runs in the cluster that it applies the output to."""
        return self.server == OWN_SERVER or self.name == OWN_NAME


class Delivery(SpecModel):
    """How the output reaches the cluster."""

    repo: Annotated[str, Field(pattern=r"^(https://|ssh://|git@)[A-Za-z0-9@:/._-]+$")]
    """The Git repository that holds out/."""

    revision: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9/._-]*$")]
    """The branch or tag that Argo CD follows."""

    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9/._-]*$")]
    """Where out/ lies in that repository."""

    destination: Destination
    """Where it is applied."""

    prune: Literal["never", "confirm", "automatic"]
    """Who deletes pools, queues and tenants that left the spec; stateless components are pruned by Argo CD.

    never: Argo CD prunes nothing of them, people delete it, and nothing is checked.
    confirm: a removal takes two commits. The first marks the element as `leaving`; after the second Argo CD deletes
    its NodePool and its rights, and people delete what holds work or data. A removal without the first is refused.
    automatic: Argo CD deletes all of it at the next sync, nodes and work included, and nothing is checked.
    """


class Kueue(SpecModel):
    """The queue controller's integrations."""

    frameworks: Annotated[list[Literal[
        "batch/job", "jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "kubeflow.org/mpijob",
        "ray.io/rayjob", "ray.io/raycluster", "leaderworkerset.x-k8s.io/leaderworkerset",
    ]], Field(min_length=1)]  # fmt: skip
    """Kinds of jobs that are queued."""


class Policy(Shorthand):
    """How far one admission policy is rolled out, and its settings."""

    model_config = ConfigDict(extra="allow")  # a policy's own settings are checked against its policy.yaml

    short_for: ClassVar[str] = "stage"

    stage: Stage | None = None
    """dryrun reports, warn also tells the author, deny refuses; the default's stage where absent."""


class NcclProfile(SpecModel):
    """Environment that makes NCCL work well on one fabric."""

    fabric: Literal["efa"]
    """The fabric it is for."""

    debug: Literal["VERSION", "WARN", "INFO", "TRACE"] = "WARN"
    """NCCL_DEBUG."""

    env: dict[
        Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")],
        Annotated[str, Field(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$")],
    ] = {}
    """Further variables by name."""


class Nccl(SpecModel):
    """NCCL environment."""

    profiles: dict[Name, NcclProfile] = {}
    """Profiles by name."""


class Prometheus(SpecModel):
    """The Prometheus that watches the cluster."""

    release: LabelValue
    """The Helm release whose label its monitors are selected by."""


class Alerts(SpecModel):
    """Who is told."""

    team: LabelValue
    """The team label of every alert."""


class Observability(SpecModel):
    """Scraping and alerts."""

    namespace: NamespaceName
    """Where Prometheus runs."""

    prometheus: Prometheus
    """The Prometheus that watches the cluster."""

    alerts: Alerts
    """Who is told."""
