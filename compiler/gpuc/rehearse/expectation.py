"""What the control plane will make of work, from the model alone: Kueue's flavor, Karpenter's nodes, or who refuses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gpuc.catalog.records import InstanceType
from gpuc.emit.kueue import topology_name
from gpuc.emit.tenants import DEFAULT_REQUEST
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.names import CPU, GPU, mig_resource
from gpuc.model.vector import Vector, quantity_text, scale
from gpuc.rehearse.fabric import BLOCK_NODES
from gpuc.rehearse.quota import Quota
from gpuc.rehearse.scenes import Outcome

RESERVE_PODS = 1
"""Pods that every simulated node has before those of tenants."""
DEFAULTS: Vector = {
    name: int(parse_quantity(text) * (1000 if name == CPU else 1)) for name, text in DEFAULT_REQUEST.items()
}
"""What the LimitRange of a tenant's namespace asks for in the name of a container that does not."""


@dataclass(frozen=True, slots=True)
class Request:
    """Pods of one kind that start together."""

    pod: Vector
    """What each asks for; what it leaves out is asked for by the namespace's LimitRange."""
    pods: int = 1
    pool: str = ""
    """The pool that they select; empty where Kueue may choose."""
    one_block: bool = False
    """Whether all of them have to be in one block of the network."""

    @property
    def asked(self) -> Vector:
        """What a pod asks for in the end."""
        return {**DEFAULTS, **self.pod}

    @property
    def total(self) -> Vector:
        """What Kueue counts."""
        return {name: amount * self.pods for name, amount in self.asked.items()}


def expect(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota | None = None) -> Outcome:
    """Admitted with flavor and nodes, refused by Kueue with its words, or admitted and then pending for ever.

    quota says what others hold. Nobody is taken to give way: preemption is a different question.
    """
    decided = admission(cluster, queue, request, quota or Quota(cluster))
    if decided.verdict != "admitted":
        return decided
    return nodes(next(pool for pool in queue.pools if pool.name == decided.flavor), request, decided)


def admission(cluster: Cluster, queue: ClusterQueue, request: Request, quota: Quota) -> Outcome:
    """Kueue's answer: the first flavor that fits without borrowing, else the one that borrows nearest.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/flavorassigner.go, with both fungibilities
    TryNextFlavor
    """
    covered = {name: amount for name, amount in request.total.items() if name in queue.covered_resources}
    unknown = [name for name, amount in request.total.items() if amount and name not in covered]
    reasons: list[str] = []
    best = (0, "")
    for pool in queue.pools:
        if mismatch := topology_mismatch(queue, pool, request):
            reasons.insert(0, mismatch)
        elif request.pool and request.pool != pool.name:
            reasons.append(f"flavor {pool.name} doesn't match node affinity")
        elif reason := _obstacle(queue, pool.name, covered, quota):
            reasons.insert(0, reason)
        else:
            distance = max(quota.distance(queue, pool.name, name, amount) for name, amount in covered.items())
            if not best[1] or distance < best[0]:
                best = distance, pool.name
    if unknown:
        # Of several, Kueue names one by chance.
        told = f"resource {unknown[0]} unavailable" if len(unknown) == 1 else "unavailable"
        return _refused(f"{told} in ClusterQueue" if best[1] else "")
    if not best[1]:
        return _refused(reasons[0])
    flavor = best[1]
    pool = next(each for each in queue.pools if each.name == flavor)
    if pool.spec.topology and (obstacle := topology_obstacle(pool, request)):
        return _refused(obstacle)
    borrowed = quota.borrowed(queue, flavor, covered)
    return Outcome("admitted", flavor=flavor, borrowed=tuple((n, quantity_text(n, a)) for n, a in borrowed.items()))


def topology_mismatch(queue: ClusterQueue, pool: Pool, request: Request) -> str:
    """Kueue's words where a flavor is not for work that is, or is not, placed by topology; empty where it is.

    Work that says nothing is placed by topology where all flavors of the queue are.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner/tas_flavorassigner.go
    """
    levels = pool.spec.topology or ()
    if request.one_block and "block" not in levels:
        lacks = "does not contain the requested level" if levels else "does not support TopologyAwareScheduling"
        return f'Flavor "{pool.name}" {lacks}'
    if levels and not request.one_block and not all(each.spec.topology for each in queue.pools):
        return f'Flavor "{pool.name}" supports only TopologyAwareScheduling'
    return ""


def topology_obstacle(pool: Pool, request: Request) -> str:
    """Kueue's words where the empty nodes of a pool have no place for all pods; empty where they have.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go
    """
    nodes = min(BLOCK_NODES, pool.nodes_max) if request.one_block else pool.nodes_max
    room = nodes * max(pods_per_node(pool, instance, request.asked) for instance in pool.instances)
    if request.pods <= room:
        return ""
    fits = f"allows to fit only {room} out of" if room else "doesn't allow to fit any of"
    return f'topology "{topology_name(pool)}" {fits} {request.pods} pod(s)'


def nodes(pool: Pool, request: Request, decided: Outcome) -> Outcome:
    """Where admitted pods run: the types that can carry one, how many nodes; or that they wait for ever."""
    fitting = [instance for instance in pool.instances if pods_per_node(pool, instance, request.asked)]
    places = {pods_per_node(pool, instance, request.asked) for instance in fitting}
    if not fitting or -(-request.pods // max(places)) > pool.nodes_max:
        return replace(decided, verdict="pending", by="scheduler" if pool.is_static else "Karpenter", pool="")
    count = {-(-request.pods // each) for each in places}
    return replace(
        decided,
        pool=pool.name,
        instance_types=tuple(instance.type for instance in fitting),
        # How many depends on the types that are cheapest then, where they hold different numbers.
        nodes=count.pop() if len(count) == 1 else None,
    )


def pods_per_node(pool: Pool, instance: InstanceType, pod: Vector) -> int:
    """How many equal pods an empty node of a type carries."""
    left = pool.left(instance)
    rooms = [left.get(name, 0) // amount for name, amount in pod.items() if amount]
    return max(0, min([instance.pods - RESERVE_PODS, *rooms]))


def portions(pool: Pool) -> dict[str, Vector]:
    """What goes with one piece of each GPU resource of a pool: its part of the node, as quotas count it.

    A general pool has no pieces: under "" it is an eighth of a node.
    """
    machine = {name: amount for name, amount in pool.node.items() if name in DEFAULTS}
    if pool.sharing is None:
        return {"": scale(machine, 1, 8)}
    return {name: {**_portion(pool, machine, name), name: 1} for name in pool.gpu_resource_names}


def _portion(pool: Pool, machine: Vector, resource: str) -> Vector:
    assert pool.sharing is not None, "a pool with GPUs says how they are shared"
    if pool.sharing.mode != "mig":
        return scale(machine, 1, pool.gpus_per_node * pool.sharing.replicas)
    if resource == GPU and pool.sharing.whole_gpus:
        return scale(machine, 1, pool.gpus_per_node)
    assert pool.profiles is not None, "a layout was placed on them"
    single = pool.sharing.strategy == "single"
    profile = next(name for name in pool.sharing.slices() if single or mig_resource(name) == resource)
    slices = pool.profiles.profiles[profile].memory_slices
    return scale(machine, slices, pool.profiles.memory_slices * pool.gpus_per_node)


def _obstacle(queue: ClusterQueue, flavor: str, wanted: Vector, quota: Quota) -> str:
    """Kueue's words for the first resource that a flavor lacks; never to be had before not to be had now."""
    for name, amount in wanted.items():
        if amount > (capacity := quota.capacity(queue, flavor, name)):
            asked, most = quantity_text(name, amount), quantity_text(name, capacity)
            return (
                f"insufficient quota for {name} in flavor {flavor}, previously considered podsets requests (0) + "
                f"current podset request ({asked}) > maximum capacity ({most})"
            )
    for name, amount in wanted.items():
        if (more := amount - quota.available(queue, flavor, name)) > 0:
            return f"insufficient unused quota for {name} in flavor {flavor}, {quantity_text(name, more)} more needed"
    return ""


def _refused(words: str) -> Outcome:
    return Outcome("refused", by="Kueue", words=words)


def cluster_queues(cluster: Cluster) -> Iterable[ClusterQueue]:
    """All ClusterQueues, in the order of the spec."""
    return (part for queue in cluster.queues for part in queue.cluster_queues)
