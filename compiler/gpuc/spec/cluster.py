"""The complete spec of one cluster."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from gpuc.spec.base import Accept, Name, Reason, SpecModel
from gpuc.spec.charts import Chart
from gpuc.spec.cloud import Cloud
from gpuc.spec.cluster_network import ClusterNetwork
from gpuc.spec.components import ComponentSettings
from gpuc.spec.form import Form
from gpuc.spec.metadata import Annotations, Labels
from gpuc.spec.patches import Patch
from gpuc.spec.platform import Delivery, Kueue, Nccl, NodeAgent, Observability, Policy, Releases
from gpuc.spec.pools import Pool
from gpuc.spec.priorities import Priority
from gpuc.spec.queues import Cohort, Queue, Queueing
from gpuc.spec.tenants import Auditors, Tenant
from gpuc.spec.working_hours import WorkingHours


class Metadata(SpecModel):
    """The name of the cluster."""

    in_messages: ClassVar[str] = "{name: prod-use1}"

    name: Name
    """The name of the cluster: the file name without its extension."""


class Removed(SpecModel):
    """Elements that are removed in one commit instead of two, with the reasons. Needs `delivery.prune: confirm`."""

    pools: dict[Name, Reason] = {}
    """Reasons by name for node pools that were removed in one commit."""

    tenants: dict[Name, Reason] = {}
    """Reasons by name for tenants that were removed in one commit, together with their namespaces."""

    namespaces: dict[Name, Reason] = {}
    """Reasons by name for namespaces of tenants that were removed in one commit."""

    queues: dict[Name, Reason] = {}
    """Reasons by name for queues that were removed in one commit."""


def _minor_version(text: str) -> str:
    """Returns the minor version in quotes, because YAML would read the text as a number."""
    found = re.match(r"v?(1\.\d{2})(?!\d)", text)
    return found[1] if found else ""


class Spec(SpecModel):
    """The desired state of the cluster."""

    environment: Literal["dev", "staging", "prod"]
    """The use of the cluster. Some rules apply to prod only. Namespaces have the environment as a label."""

    labels: Labels = {}
    """Labels of all objects that gpuc emits for the cluster, for example the owner. Labels of gpuc are not replaced.

    Pods, nodes, namespaces of components, objects of Helm charts and objects in `specs/<cluster>/manifests/` do not
    get the labels. gpuc refuses keys that a program of the platform reads.
    """

    annotations: Annotations = {}
    """Annotations of all objects that gpuc emits for the cluster, like `labels`. At most 16 KiB.

    gpuc refuses keys that a program of the platform reads.
    """

    kubernetes: Annotated[str, Form(r"^1\.\d{2}$", 'a minor version in quotes such as "1.35"', _minor_version)]
    """The minor version of Kubernetes in the cluster, in quotes. gpuc does not upgrade the cluster."""

    cloud: Cloud
    """The place where the cluster lives."""

    network: ClusterNetwork = Field(default_factory=ClusterNetwork.model_construct)
    """Facts about the network of the cluster: address ranges, and the program that enforces NetworkPolicies."""

    releases: Releases
    """The versions of components."""

    components: dict[Name, ComponentSettings] = {}
    """Settings of components by name: gpu-operator, kueue, gatekeeper and so on.

    An optional component belongs to a cluster if this section names the component, with settings or with {}: jobset,
    trainer (Kubeflow Trainer, which needs jobset), kuberay and lws (LeaderWorkerSet). Kueue then manages its kinds of
    workloads.
    """

    patches: list[Patch] = []
    """Changes of objects that gpuc emits, in the order in which they are applied."""

    charts: dict[Name, Chart] = {}
    """Helm charts by name that Argo CD installs in addition to the components."""

    delivery: Delivery
    """How the output reaches the cluster."""

    # A layer has `kueue` and `priorities` for all clusters of a fleet, also for those that have no queues yet.
    kueue: Kueue = Field(default_factory=Kueue.model_construct)
    """Settings of Kueue: the kinds of jobs that Kueue manages. No effect without `queues`."""

    pools: Annotated[dict[Name, Pool], Field(min_length=1)]
    """Node pools by name. The substrate decides which objects a pool becomes."""

    node_agents: dict[Name, NodeAgent] = {}
    """DaemonSets that gpuc does not install, such as CSI drivers and log agents, by name. Quotas leave room for
    the requests of their pods."""

    nccl: Nccl = Field(default_factory=Nccl.model_construct)
    """Environment variables for NCCL in profiles, which namespaces select. A namespace without `nccl` gets none."""

    tenants: dict[Name, Tenant] = {}
    """Tenants by name. Without tenants, every namespace can use the node pools."""

    auditors: Auditors | None = None
    """Groups that read the objects of the platform and of all tenants. Default: none."""

    queueing: Queueing = Field(default_factory=Queueing.model_construct)
    """Settings of all queues: fair sharing."""

    cohorts: dict[Name, Cohort] = {}
    """Cohorts by name: groups of queues that lend quota to each other. `cohort` of a queue is one of these names."""

    priorities: dict[Name, Priority] = {}
    """Workload priorities by name, for example {high: 1000, low: 100}. Kueue admits the highest number first.

    A workload selects a priority with the label `kueue.x-k8s.io/priority-class`. The number does not change the order
    in which Kubernetes schedules or preempts pods, unless the priority has `pods: true`.
    """

    queues: dict[Name, Queue] = {}
    """Queues by name. Without queues, gpuc does not install Kueue."""

    # A default for tenants would bring Gatekeeper into a cluster with its first tenant, at stages that no user chose.
    policies: dict[Name, Policy] | None = None
    """Admission policies by name. `default` is the stage of all policies without a stage; its default is dryrun.

    Without this section, gpuc does not install Gatekeeper, and the cluster has no admission policies. `policies: {}`
    is all policies at stage dryrun.
    """

    working_hours: WorkingHours | None = None
    """The hours in which the autoscaler replaces no GPU node with running pods. Default: no such hours."""

    observability: Observability | None = None
    """Metrics and alerts. Without this section, the output has no monitors and no alerts."""

    removed: Removed = Field(default_factory=Removed.model_construct)
    """Reasons for removals of pools, tenants, namespaces and queues that were not marked as `leaving` before.

    For example {pools: {batch: the reservation has ended}}. Has no effect unless `delivery.prune` is confirm.
    """

    accept: Accept = {}
    """Reasons by id for findings, and for impacts of `gpuc plan`, that are accepted in the complete spec."""


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
