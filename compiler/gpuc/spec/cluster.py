"""The whole spec of one cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import Accept, Name, SpecModel, Words
from gpuc.spec.cloud import Cloud
from gpuc.spec.platform import Delivery, Kueue, Nccl, Observability, Policy, Releases
from gpuc.spec.pools import Pool
from gpuc.spec.queues import Cohort, Queue, Queueing
from gpuc.spec.tenants import Tenant


class Metadata(SpecModel):
    """What the cluster is called."""

    name: Name
    """The cluster's name, which is the file's stem."""


class Removed(SpecModel):
    """Reasons for removals in one commit instead of two, by name; read where `delivery.prune` is confirm."""

    pools: dict[Name, Words] = {}
    """Why a pool left at once."""

    tenants: dict[Name, Words] = {}
    """Why a tenant left at once, its namespaces with it."""

    namespaces: dict[Name, Words] = {}
    """Why a namespace of a tenant left at once."""

    queues: dict[Name, Words] = {}
    """Why a queue left at once."""


class Spec(SpecModel):
    """What the cluster shall be."""

    environment: Literal["dev", "staging", "prod"]
    """What it is for; decides severities and is a label on namespaces."""

    kubernetes: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    """The minor version of Kubernetes."""

    cloud: Cloud
    """Where it runs."""

    releases: Releases
    """Which component versions."""

    delivery: Delivery
    """How the output reaches the cluster."""

    kueue: Kueue
    """Which kinds of jobs are queued."""

    pools: Annotated[dict[Name, Pool], Field(min_length=1)]
    """Node pools by name."""

    nccl: Nccl = Field(default_factory=Nccl)
    """NCCL environment by profile."""

    tenants: Annotated[dict[Name, Tenant], Field(min_length=1)]
    """Tenants by name."""

    queueing: Queueing = Field(default_factory=Queueing)
    """Switches of the queue controller."""

    cohorts: dict[Name, Cohort] = {}
    """Cohorts by name."""

    priorities: dict[Name, Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]] = {}
    """Workload priorities by name; higher goes first."""

    queues: Annotated[dict[Name, Queue], Field(min_length=1)]
    """Queues by name."""

    policies: dict[Name, Policy] = {}
    """Admission policies by name; `default` is the stage of those that are not named."""

    observability: Observability
    """Scraping and alerts."""

    removed: Removed = Field(default_factory=Removed)
    """Removals that skipped the commit that marks an element as `leaving`, with the reason."""

    accept: Accept = {}
    """Findings that are accepted everywhere, with the reason."""


class ClusterSpec(SpecModel):
    """One GPU cluster."""

    api_version: Literal["gpuc.dev/v1alpha1"]
    """The version of this language."""

    kind: Literal["Cluster"]
    """Cluster; layers are never compiled by themselves."""

    metadata: Metadata
    """What it is called."""

    spec: Spec
    """What it shall be."""
