"""Training runtimes of a tenant: settings that TrainJobs get from the runtime that they name."""

from typing import Annotated, ClassVar

from pydantic import Field

from gpuc.spec.base import Name, Seconds, SpecModel


class Checkpoints(SpecModel):
    """Where a run writes its checkpoints, and how often."""

    in_messages: ClassVar[str] = "{claim: checkpoints}"

    claim: Name
    """The name of a PersistentVolumeClaim in the namespace, which all nodes of the run mount at /checkpoints. gpuc does
    not create the claim. A run of several nodes needs access mode ReadWriteMany."""

    every: Seconds | None = None
    """The time between two checkpoints. Default: `runs.checkpointEvery` of the pool."""


class Trains(SpecModel):
    """A training runtime: TrainJobs that name it in `runtimeRef` get nodes, network, volumes and restarts from it.

    gpuc computes all other fields of the runtime from the pool: requests of a complete node, EFA, huge pages, shared
    memory, NCCL variables, the time limit of the rendezvous, the grace period, and the duration of the longest run.
    """

    in_messages: ClassVar[str] = "{namespace: research-train, pool: train-h100, nodes: 16}"

    namespace: Name
    """The namespace of the tenant with the runtime and its TrainJobs."""

    pool: Name
    """The node pool, with complete GPUs and EFA."""

    nodes: Annotated[int, Field(ge=1, le=10_000)]
    """The largest number of nodes of a TrainJob. gpuc checks it against the quota that the queue has and can borrow."""

    checkpoints: Checkpoints | None = None
    """The checkpoints of the runs. Without them, a restart begins from the first step."""

    priority: Name | None = None
    """The priority of the TrainJob in the template, and of its pods if the priority has `pods: true`. Default: the
    middle priority of the tenant, without a PriorityClass of the pods."""

    restarts: Annotated[int, Field(ge=0, le=20)] = 3
    """How often the complete run is started again after a failure. The loss of a node does not count."""
