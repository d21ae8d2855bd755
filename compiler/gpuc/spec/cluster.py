"""The complete spec of one cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpuc.spec.base import Accept, Name, SpecModel, TextLine
from gpuc.spec.cloud import Cloud
from gpuc.spec.platform import Delivery, Kueue, Nccl, NodeAgent, Observability, Policy, Releases
from gpuc.spec.pools import Pool
from gpuc.spec.queues import Cohort, Queue, Queueing
from gpuc.spec.tenants import Tenant
from gpuc.spec.working_hours import WorkingHours


class Metadata(SpecModel):
    """The name of the cluster."""

    name: Name
    """The name of the cluster: the file name without its extension."""


class Removed(SpecModel):
    """Reasons for removals in one commit instead of two, by name. Has no effect unless `delivery.prune` is confirm."""

    pools: dict[Name, TextLine] = {}
    """Reasons by name for node pools that were removed in one commit."""

    tenants: dict[Name, TextLine] = {}
    """Reasons by name for tenants that were removed in one commit, together with their namespaces."""

    namespaces: dict[Name, TextLine] = {}
    """Reasons by name for namespaces of tenants that were removed in one commit."""

    queues: dict[Name, TextLine] = {}
    """Reasons by name for queues that were removed in one commit."""


class Spec(SpecModel):
    """The desired state of the cluster."""

    environment: Literal["dev", "staging", "prod"]
    """The use of the cluster. Some rules apply to prod only. Namespaces have the environment as a label."""

    kubernetes: Annotated[str, Field(pattern=r"^1\.\d{2}$")]
    """The minor version of Kubernetes, in quotes."""

    cloud: Cloud
    """The cloud provider of the cluster."""

    releases: Releases
    """The versions of components."""

    delivery: Delivery
    """How the output reaches the cluster."""

    kueue: Kueue
    """Settings of Kueue: the kinds of jobs that Kueue manages."""

    pools: Annotated[dict[Name, Pool], Field(min_length=1)]
    """Node pools by name."""

    node_agents: dict[Name, NodeAgent] = {}
    """DaemonSets that gpuc does not install, such as CSI drivers and log agents, by name. Quotas leave room for
    the requests of their pods."""

    nccl: Nccl = Field(default_factory=Nccl)
    """Environment variables for NCCL, by profile."""

    tenants: Annotated[dict[Name, Tenant], Field(min_length=1)]
    """Tenants by name."""

    queueing: Queueing = Field(default_factory=Queueing)
    """Settings of all queues."""

    cohorts: dict[Name, Cohort] = {}
    """Cohorts by name."""

    priorities: dict[Name, Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]] = {}
    """Workload priorities by name. Kueue admits workloads with a higher priority first."""

    queues: Annotated[dict[Name, Queue], Field(min_length=1)]
    """Queues by name."""

    policies: dict[Name, Policy] = {}
    """Admission policies by name. `default` is the stage of all policies without a stage."""

    working_hours: WorkingHours | None = None
    """The hours in which Karpenter does not replace GPU nodes with running pods. Default: no such hours."""

    observability: Observability
    """Metrics and alerts."""

    removed: Removed = Field(default_factory=Removed)
    """Reasons for removals of pools, tenants, namespaces and queues that were not marked as `leaving` before."""

    accept: Accept = {}
    """Reasons by rule id for findings that are accepted in the complete spec."""


class ClusterSpec(SpecModel):
    """One GPU cluster."""

    api_version: Literal["gpuc.dev/v1alpha1"]
    """The version of the spec language."""

    kind: Literal["Cluster"]
    """Always Cluster. Layers are compiled only as part of a cluster."""

    metadata: Metadata
    """The name of the cluster."""

    spec: Spec
    """The desired state of the cluster."""
