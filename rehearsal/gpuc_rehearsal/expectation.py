"""Computes the expected outcomes of test cases, with the code of `gpuc trace`.

So a rehearsal also tests `gpuc trace`. If a test case expected the outcome of an earlier rehearsal instead, a mistake
in that outcome would stay unnoticed.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.kubernetes import quota
from gpuc.kubernetes.amounts import texts
from gpuc.kubernetes.flavor import Attempt
from gpuc.kubernetes.kueue import level_label
from gpuc.kubernetes.quota import NOTHING, Key, Node, Usage
from gpuc.manifest.manifest import manifest_of
from gpuc.model import Cluster, ClusterQueue, Queue
from gpuc.pipeline.stages import CompiledSpec
from gpuc.trace import ClusterIndex, Stage, TraceResult, trace_workload, workload_of
from gpuc.trace.node_agents import index_of
from gpuc.trace.steps import Placement
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.health import BLOCK_NODES
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.suites.jobs import Work, job_of

_BLOCKS = dict.fromkeys((level_label("block", 3), level_label("block", 4)), BLOCK_NODES)


@lru_cache(maxsize=4)
def cluster_index(spec: CompiledSpec) -> ClusterIndex:
    """Returns the objects of a spec as `gpuc trace` reads them. Nodes of static pools are in blocks of equal size."""
    return index_of(spec.cluster, spec.synced, spec.charts, _BLOCKS)


def expect(spec: CompiledSpec, queue: ClusterQueue, request: Request, usage: Usage = NOTHING) -> Outcome:
    """Returns the expected outcome of a request: admitted with ResourceFlavor and nodes, refused by Kueue, or pending.

    A request is pending if Kueue admits the request, but the pods never get nodes. Preemption is not considered.

    `usage` is the quota that other workloads already use, see `Quota`.
    """
    return predict(spec, job_of(spec.cluster, Work("", queue, request)), usage)


def admission(spec: CompiledSpec, queue: ClusterQueue, request: Request, usage: Usage = NOTHING) -> Outcome:
    """Returns the expected decision of Kueue about a request: admitted with a ResourceFlavor, or refused."""
    outcome = expect(spec, queue, request, usage)
    if outcome.verdict == "refused":
        return outcome
    return replace(outcome, verdict="admitted", by="", pool="", instance_types=(), nodes=None)


def predict(spec: CompiledSpec, document: Object, usage: Usage = NOTHING, *, policies: bool = False) -> Outcome:
    """Returns the expected outcome of an object whose pods are all equal, such as a Job.

    Args:
        policies: whether the API server and the policies also decide about the creation of the object and its pods.
    """
    workload = workload_of(manifest_of(document))
    assert workload is not None, "the objects of test cases have pods"
    result = trace_workload(cluster_index(spec), workload, admission=policies, usage=usage)
    if result.verdict == "refused":
        return Outcome("refused", by=result.by, message=_refusal(result))
    placement = result.placements.get("main", Placement())
    flavor, borrowed = "".join(placement.flavors[:1]), tuple(texts(placement.borrowed).items())
    if result.verdict == "pending":
        return Outcome("pending", by=result.by, flavor=flavor, borrowed=borrowed)
    node_pools = {pool.name: pool.scaling.node_pools if pool.scaling else (pool.name,) for pool in spec.cluster.pools}
    pool = next((name for name, names in node_pools.items() if set(names) & set(placement.pools)), "")
    types, nodes = placement.instance_types, placement.nodes
    return Outcome("admitted", flavor=flavor, pool=pool, instance_types=types, nodes=nodes, borrowed=borrowed)


def _refusal(result: TraceResult) -> str:
    """Returns a part of Kueue's message that does not depend on the order of flavors and resources."""
    if result.failure is not None and result.failure.stage is Stage.TOPOLOGY:
        return result.failure.message
    attempts: Sequence[Attempt] = result.attempts.get("main", ())
    if uncovered := [attempt for attempt in attempts if attempt.refused_by == "resource"]:
        # Kueue reports one uncovered resource at random, or the refusal of a flavor for another resource.
        fits = any(attempt.refused_by is None for attempt in attempts)
        return (uncovered[0].reasons[0] if len(uncovered) == 1 else "unavailable in ClusterQueue") if fits else ""
    refused = [attempt for attempt in attempts if attempt.refused_by]
    matching = [attempt for attempt in refused if attempt.refused_by != "labels"]
    return next((attempt.reasons[0] for attempt in (*reversed(matching), *refused)), "")


def cluster_queues(cluster: Cluster) -> Iterable[ClusterQueue]:
    """Returns the ClusterQueues that at least one namespace may use, in the order of the spec."""
    used = {name for _, namespace in cluster.namespaces for name in namespace.local_queues}
    return (part for queue in cluster.queues for part in queue.cluster_queues if part.name in used)


def unused_queues(cluster: Cluster) -> list[str]:
    """Returns the names of the ClusterQueues that no namespace may use. No test case can submit a Job to them."""
    used = {part.name for part in cluster_queues(cluster)}
    return [part.name for queue in cluster.queues for part in queue.cluster_queues if part.name not in used]


class Quota(Struct):
    """The quota of all ClusterQueues of a spec, and how much of the quota admitted workloads use."""

    spec: CompiledSpec
    usage: dict[tuple[Node, Key], int] = field(default_factory=dict)
    """Used amount by node of Kueue's quota tree and by (flavor, resource)."""

    def node(self, queue: str) -> Node:
        """Returns a ClusterQueue as a node of the tree in which Kueue counts quota."""
        return cluster_index(self.spec).quotas[queue]

    def add_usage(self, queue: str, flavor: str, amounts: Mapping[str, int]) -> None:
        """Adds the resources of an admitted workload to the used quota of a ClusterQueue and a ResourceFlavor."""
        for resource, amount in amounts.items():
            quota.add_usage(self.node(queue), (flavor, resource), amount, self.usage)

    def available(self, queue: ClusterQueue, flavor: str, resource: str) -> int:
        """Returns the free quota of a ClusterQueue for a resource, including quota that the queue can borrow."""
        return self.node(queue.name).available((flavor, resource), self.usage)


def owner(cluster: Cluster, queue: ClusterQueue) -> Queue:
    """Returns the queue in the spec from which gpuc emitted this ClusterQueue."""
    return next(candidate for candidate in cluster.queues if queue in candidate.cluster_queues)
