"""Node pools: hardware, number of nodes, GPU sharing, network fabric, and how long runs on the pool take."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from gpuc.spec.base import Accept, Count, OneOf, Seconds, SpecModel
from gpuc.spec.form import Form
from gpuc.spec.metadata import Annotations, Labels
from gpuc.spec.node_settings import NodeLabels, NodeTaint
from gpuc.spec.sharing import Sharing
from gpuc.spec.substrate import substrates, with_pool_sections

Purpose = Literal["general", "training", "inference", "interactive"]
Level = Literal["zone", "block", "rack", "host"]


class Nodes(OneOf):
    """The number of nodes: up to a maximum, created for pending pods, or a constant number."""

    one_of = ("max", "static")

    in_messages: ClassVar[str] = "{max: 8}"

    instead: ClassVar[Mapping[str, str]] = {key: f"machines.{key}" for key in ("names", "excluded", "spares")}

    max: Count | None = None
    """The maximum number of nodes, instead of `static`. The autoscaler starts a node only for pending pods.

    The nodes of `min` always run, also without pods.
    """

    min: Count | None = None
    """The number of nodes that always run, with or without pods, as part of `max`. Default: none.

    These nodes have a node pool of their own in the cluster, POOL-warm, with the same labels and taints, because the
    node pool that grows has no minimum. The nodes of `min` are not bought as spot capacity if the pool may buy another
    capacity. While one of these nodes is replaced, the pool can have one node more than `max`. If you remove `min`,
    Argo CD deletes POOL-warm (unless `delivery.prune` is never), and its nodes are drained.
    """

    static: Count | None = None
    """The number of nodes that always run, with or without pods. Instead of `max`."""

    @model_validator(mode="after")
    def _has_possible_minimum(self) -> Self:
        if self.min is not None and (self.max is None or self.min >= self.max):
            allowed = "min without static" if self.max is None else f"a min that is less than max ({self.max})"
            raise ValueError(
                f"min is {self.min}; expected {allowed}; for a constant number of nodes, write only static"
            )
        return self


class Runs(SpecModel):
    """How long the runs of workloads on the pool take, and the time between their checkpoints."""

    in_messages: ClassVar[str] = "{longest: 72h, checkpointEvery: 30m}"

    longest: Seconds
    """The duration of the longest run. The Job templates in workloads/ end a run after this time.

    In a pool without spot capacity, the pods of these Jobs have an annotation that keeps their node: a node is
    replaced only after the run on the node has ended.
    """

    checkpoint_every: Seconds | None = None
    """The time between checkpoints. Absent if runs save no checkpoints."""


class AnyPool(SpecModel):
    """A node pool."""

    in_messages: ClassVar[str] = "{purpose: general, instances: [m7i.2xlarge], nodes: {max: 4}}"

    instead: ClassVar[Mapping[str, str]] = {"servers": "instances", "racks": "cloud.onPremises.racks"}

    purpose: Purpose
    """The use of the pool. general is for nodes without GPUs. The other uses set defaults of disruption and alerts."""

    instances: Annotated[
        list[Annotated[str, Form(r"^[a-z0-9-]+(\.[a-z0-9-]+)?$", "a type such as p5.48xlarge or dgx-h100", str.lower)]],
        Field(min_length=1),
    ]
    """The types of the nodes: instance types, or with `cloud.onPremises` one type of server, for example dgx-h100.

    Nodes of all types must advertise the same resource names."""
    nodes: Nodes = Field(default_factory=Nodes.model_construct)
    """The number of nodes: `max`, `max` with `min`, or `static`. Not with `cloud.onPremises`: `machines` names them."""

    counted: Literal["kueue", "quota"] | None = None
    """How the pool is counted. Default: quota for purpose inference, kueue for all other purposes.

    kueue: by the quotas of the queues.

    quota: by a ResourceQuota in each namespace, without Kueue, for pods that run without an end. The pods of a pool
    without GPUs then have the PriorityClass gpuc-pool-POOL, by which the ResourceQuota counts them.
    """

    shared: bool = False
    """Whether pods of a tenant with `isolation: dedicated` and pods of other tenants may run on the same nodes.

    Only for pools without GPUs. Without `shared`, a pool that a dedicated tenant uses accepts no pods of other tenants.
    If a dedicated tenant uses the pool, a change of `shared` replaces the nodes one after another.
    """

    sharing: Sharing | None = None
    """How containers share a GPU. Required for pools with GPUs."""

    fabric: Literal["efa"] | None = None
    """The network for NCCL between nodes, in addition to the pod network."""

    runs: Runs | None = None
    """The length of runs, and the time between checkpoints. Without this section, the pods of a node are ended
    one hour after the start of the drain at the latest."""

    topology: Annotated[list[Level], Field(min_length=1)] | None = None
    """Levels of topology-aware scheduling in Kueue, from the widest to the narrowest. Requires static nodes.

    zone is the availability zone, block is the lowest network layer that all networks of the cloud have, rack is a
    rack of `cloud.onPremises.racks`, and host is one node.
    """

    node_labels: NodeLabels = {}
    """Additional labels of the nodes, for example for node selectors of your own. A change replaces all nodes (drift).

    The domains of Kubernetes, NVIDIA, gpuc, the cloud and its autoscaler are reserved, except
    node-role.kubernetes.io, node-restriction.kubernetes.io and node.kubernetes.io/exclude-from-external-load-balancers.
    At most 50 labels.
    """

    taints: Annotated[list[NodeTaint], Field(max_length=20)] = []
    """Additional taints of the nodes. A change replaces all nodes (drift). At most 20 taints.

    Kueue adds the tolerations to workloads that it admits to the pool. Other pods, for example of pools that
    ResourceQuotas count, and your own DaemonSets need the tolerations themselves. All pods of the GPU Operator and of
    the EFA plugin tolerate the taints.
    """

    hold: bool = False
    """Whether the queues admit no new workloads to the pool, for example before the end of a capacity block.

    Running workloads continue, and lost nodes are replaced. Only for pools that Kueue counts.
    """

    leaving: bool = False
    """Whether the pool will be removed. The pool gets no new nodes and no new workloads; running workloads continue.

    A removal needs two commits. The first commit sets `leaving`, and the second commit removes the pool from the spec.
    """

    labels: Labels = {}
    """Labels of the Kubernetes objects of the pool, such as NodePool, EC2NodeClass and ResourceFlavor. They replace
    labels of the cluster key by key, and do not replace the nodes. Nodes do not get them.
    """

    annotations: Annotations = {}
    """Annotations of the Kubernetes objects of the pool, like `labels`. At most 16 KiB."""

    accept: Accept = {}
    """Reasons by id for findings, and for impacts of `gpuc plan`, that are accepted for the pool."""

    @model_validator(mode="after")
    def _has_number_of_nodes(self) -> Self:
        names = [part.pool_key for part in substrates() if part.names_nodes]
        if not self.model_fields_set.intersection(("nodes", *names)):
            raise ValueError(f"the key nodes is missing; expected nodes such as {{max: 4}}, or {' or '.join(names)}")
        return self


if TYPE_CHECKING:
    Pool = AnyPool
else:
    Pool = with_pool_sections(AnyPool)
