"""One workload through everything that has to let it through, by the objects of a tree alone.

Nobody else holds quota or nodes: what is refused here is refused in an empty cluster too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts, described, total
from gpuc.kubernetes.flavor import Choice, topology_refusal
from gpuc.kubernetes.kueue import HOST, REQUIRED_TOPOLOGY
from gpuc.kubernetes.quota import Key
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, items
from gpuc.trace import advice
from gpuc.trace.admission_errors import is_device, refused_steps
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.flavors import choose, place, topology_level
from gpuc.trace.kueue_scope import bypass, instead
from gpuc.trace.limits import container_limits, namespace_steps
from gpuc.trace.local_queue import cluster_queue_step, local_queue, local_queue_step, priority_steps
from gpuc.trace.nodes import Entry, Wanted, entries, holders, most_pods, too_small, wanted
from gpuc.trace.policies import policy_steps
from gpuc.trace.quota import Node
from gpuc.trace.startup import startup_step
from gpuc.trace.steps import Placement, Stage, Step, TraceResult
from gpuc.trace.work import PodSet, Work, requests

_COPIES_MAX = 10_000
"""More replicas than this are not counted one by one."""


def trace_work(site: ClusterIndex, work: Work, *, policies: bool = True) -> TraceResult:
    """Every step of some work up to the first that fails.

    Args:
        policies: whether gpuc's own admission policies are asked too, as far as their parameters say all, and
            whether all replicas of an object get quota.
    """
    made = TraceResult()
    for step in _steps(site, work, policies, made):
        made.steps.append(step)
        if step.failed:
            break
    return made


def _steps(site: ClusterIndex, work: Work, policies: bool, made: TraceResult) -> Iterator[Step]:
    limits = container_limits(site, work.namespace)
    yield from refused_steps(work, limits)
    if policies:
        yield from policy_steps(site, work)
    made.bypass = bypass(site, work)
    chosen: dict[str, list[Manifest]] = {}
    if made.bypass:
        message = f"{made.bypass}; its pods go to the scheduler at once, without a flavor's labels and tolerations"
        yield Step(Stage.LOCAL_QUEUE, "bypassed", message, fix=instead(made.bypass, work))
    else:
        yield from _admission(site, work, limits, chosen, made)
    created = [(pods, requests(pods.pod, limits)) for pods in work.pod_sets]
    together = total({name: count * pods.count for name, count in asked.items()} for pods, asked in created)
    yield from namespace_steps(site, work, limits, together)
    for pods, asked in created:
        flavors = chosen.get(pods.name, [])
        yield from node_steps(site, pods, wanted(_tolerant(pods.pod, asked), pods.count, asked, flavors), made)
    if policies and work.copies > 1 and not made.bypass:
        yield from _copies(site, work, limits)


def _admission(
    site: ClusterIndex, work: Work, limits: list[Any], chosen: dict[str, list[Manifest]], made: TraceResult
) -> Iterator[Step]:
    """Kueue's steps.

    Args:
        chosen: takes the flavors of each pod set.
    """
    local = local_queue(site, work)
    yield local_queue_step(site, work, local)
    assert local is not None, "the walk ends where there is none"
    yield from priority_steps(site, work)
    queue = _cluster_queue(site, local)
    if queue is None:
        message = f"ClusterQueue {dig(local.body, 'spec', 'clusterQueue')} is not there"
        fix = advice.of_name(str(dig(local.body, "spec", "clusterQueue")), site.quotas)
        yield Step(Stage.CLUSTER_QUEUE, "failed", message, local, ("spec", "clusterQueue"), fix=fix)
        return
    yield cluster_queue_step(site, work, queue)
    used: dict[Key, int] = {}
    counted = [(pods, requests(pods.pod, limits, template=work.kind != "Pod")) for pods in work.pod_sets]
    for pods, asked in counted:
        choice = choose(site, queue, pods, asked, used)
        yield from admission_steps(site, queue, pods, asked, choice)
        made.placements[pods.name] = Placement(tuple(choice.names), choice.borrowed)
        chosen[pods.name] = [found for each in choice.names if (found := site.flavor(each)) is not None]
    for pods, asked in counted:
        yield from topology_steps(site, pods, asked, chosen[pods.name], queue)


def _tolerant(pod: Any, asked: Amounts) -> Any:
    """A pod as it is made where it asks for devices: EKS has it tolerate taints of their names.

    Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/extendedresourcetoleration/admission.go;
    https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
    """
    added = [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in asked if is_device(name)]
    own = [each for _, each in items(dig(pod, "tolerations"))]
    return {**pod, "tolerations": [*own, *added]} if isinstance(pod, dict) else pod


def _cluster_queue(site: ClusterIndex, local: Manifest) -> Node | None:
    return site.quotas.get(str(dig(local.body, "spec", "clusterQueue")))


def _copies(site: ClusterIndex, work: Work, limits: list[Any]) -> Iterator[Step]:
    """Whether all workloads of an object get quota, each of which waits by itself."""
    local = local_queue(site, work)
    queue = _cluster_queue(site, local) if local is not None else None
    if queue is None:
        return
    used: dict[Key, int] = {}
    counted = [(pods, requests(pods.pod, limits)) for pods in work.pod_sets]
    for count in range(min(work.copies, _COPIES_MAX)):
        if not all(choose(site, queue, pods, asked, used).flavors for pods, asked in counted):
            message = f"{count} of {work.copies} get quota at the same time; each waits for its own"
            path: Path = ("spec", "resourceGroups")
            yield Step(Stage.QUOTA, "failed", message, queue.manifest, path, fix=f"at most {count} replicas")
            return


def admission_steps(site: ClusterIndex, queue: Node, pods: PodSet, asked: Amounts, choice: Choice) -> Iterator[Step]:
    """Whether resources are covered, a flavor takes the pods, and quota is enough; what fails, with all reasons."""
    manifest = queue.manifest
    groups: Path = ("spec", "resourceGroups")
    failed = [attempt for attempt in choice.attempts if attempt.obstacle]
    reasons = "; ".join(reason for attempt in failed for reason in attempt.reasons)
    uncovered = [attempt.reasons[0] for attempt in failed if attempt.obstacle == "resource"]
    if uncovered:
        fix = advice.of_resources(site, queue, (reason.split()[1] for reason in uncovered))
        yield Step(Stage.RESOURCES, "failed", "; ".join(uncovered), manifest, groups, pods.name, fix)
    yield Step(Stage.RESOURCES, "passed", "every resource is covered", manifest, groups, pods.name)
    short = [attempt for attempt in failed if attempt.obstacle == "quota"]
    if not choice.flavors and not short and (failed or any(asked.values())):
        where = place(site, queue, pods, failed[0]) if failed else (manifest, groups)
        fix = advice.of_flavor(site, queue, pods, failed)
        yield Step(Stage.FLAVOR, "failed", reasons or "the queue has no flavor", *where, pods.name, fix)
        return
    if short and not choice.flavors:
        fits = ", ".join(attempt.flavor for attempt in short)
        where = place(site, queue, pods, short[0])
        yield Step(Stage.FLAVOR, "passed", f"{fits} would do", manifest, where[1][:-1], pods.name)
        fix = advice.of_quota(queue, pods, asked, failed)
        yield Step(Stage.QUOTA, "failed", reasons, *where, pods.name, fix)
        return
    taken = next((found for found in choice.attempts if found.flavor in choice.names and not found.obstacle), None)
    flavor, path = (site.flavor(taken.flavor), place(site, queue, pods, taken)[1]) if taken else (manifest, groups)
    yield Step(
        Stage.FLAVOR, "passed", ", ".join(choice.names) or "the pods ask for nothing", flavor, ("spec",), pods.name
    )
    own = f"borrows {described(choice.borrowed)}" if choice.borrowed else "within the queue's own"
    yield Step(Stage.QUOTA, "passed", own, manifest, path, pods.name)


def topology_steps(
    site: ClusterIndex, pods: PodSet, asked: Amounts, flavors: list[Manifest], queue: Node
) -> Iterator[Step]:
    """Whether nodes that exist before any pod have room, where a flavor is scheduled by topology.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go
    """
    placed = [each for each in flavors if dig(each.body, "spec", "topologyName") is not None]
    checked = dig(queue.manifest.body if queue.manifest else None, "spec", "admissionChecksStrategy")
    if not placed:
        return
    flavor, path = placed[0], ("spec", "topologyName")
    found, _ = entries(site, wanted(pods.pod, pods.count, asked, flavors))
    static = [each for each in found if each.pool.replicas is not None]
    if not site.pools or checked or any(not each.pool.is_known for each in static):
        yield Step(Stage.TOPOLOGY, "not judged", "the tree does not say which nodes exist", flavor, path, pods.name)
        return
    name, level = dig(flavor.body, "spec", "topologyName"), topology_level(pods.notes) or ""
    room = topology_room(site, static, wanted(pods.pod, pods.count, asked, flavors), _required(pods))
    if not any(each.pool.replicas for each in static):
        message = f"no topology domains at level: {level or 'any'}; flavor {flavor.name} has no static node pool"
        yield Step(Stage.TOPOLOGY, "failed", message, flavor, path, pods.name)
    if room < pods.count and (unsaid := _unsaid(site, static, asked)):
        yield Step(Stage.TOPOLOGY, "not judged", unsaid, flavor, path, pods.name)
        return
    if room < pods.count:
        yield Step(Stage.TOPOLOGY, "failed", topology_refusal(name, room, pods.count), flavor, path, pods.name)
    told = f'topology "{name}" has room for {room} pod(s)'
    if _required(pods) not in ("", HOST, *site.domain_nodes):
        told += f", if all nodes are in one domain of {_required(pods)}, which no object says"
    yield Step(Stage.TOPOLOGY, "passed", told, flavor, path, pods.name)


def _unsaid(site: ClusterIndex, found: list[Entry], asked: Amounts) -> str:
    """What of the asked only the nodes themselves know: parts of a tree do not say what runs on existing ones."""
    if site.tree.is_complete or not found or any(each.pool.replicas is None for each in found):
        return ""
    said = {name for each in found for instance in each.types for name in each.pool.room(instance)}
    names = ", ".join(name for name in asked if name not in said)
    return f"no object says how much {names} existing nodes have" if names else ""


def topology_room(site: ClusterIndex, static: list[Entry], pods: Wanted, level: str) -> int:
    """How many of the pods existing nodes carry, within one domain of a level where one is required."""
    if not level:
        return sum(most_pods(each, pods) for each in static)
    nodes = 1 if level == HOST else site.domain_nodes.get(level)
    return max((most_pods(each, pods, nodes) for each in static), default=0)


def _required(pods: PodSet) -> str:
    return topology_level(pods.notes) or "" if dig(pods.notes, REQUIRED_TOPOLOGY) is not None else ""


def node_steps(site: ClusterIndex, pods: PodSet, want: Wanted, made: TraceResult) -> Iterator[Step]:
    """A pool that the pods may enter, a type that holds one, nodes for all, and no taint that stays."""
    if not site.pools:
        yield Step(Stage.NODE_POOL, "not judged", "the tree has no NodePool", pods=pods.name)
        return
    found, misses = entries(site, want)
    made.is_static = bool(found) and all(each.pool.replicas is not None for each in found)
    if not found:
        message = "; ".join(each.message for each in misses[:4])
        fix = misses[0].fix
        yield Step(Stage.NODE_POOL, "failed", message, misses[0].manifest, misses[0].path, pods.name, fix)
    names = ", ".join(each.pool.name for each in found)
    yield Step(
        Stage.NODE_POOL,
        "passed",
        f"{names}: labels fit and taints are tolerated",
        found[0].pool.manifest,
        (),
        pods.name,
    )
    carried = {each.pool.name: holders(each, want) for each in found}
    most = sum(most_pods(each, want) for each in found)
    first = found[0]
    if most < want.count and (unsaid := _unsaid(site, found, want.pod)):
        yield Step(Stage.NODE, "not judged", unsaid, first.pool.manifest, (), pods.name)
        return
    if most < want.count:
        strange = next((each.pool for each in found if not each.pool.is_known), None)
        if strange is not None:
            message = f"node pool {strange.name} may start instance types that are not in the catalog"
            yield Step(Stage.NODE, "not judged", message, strange.manifest, (), pods.name)
            return
        if any(carried.values()):
            message = f"node pool {names} can have nodes for {most} of {want.count} pods"
            fix = f"at most {most} such pods"
            yield Step(Stage.NODE, "failed", message, first.pool.manifest, ("spec", "limits"), pods.name, fix)
        else:
            obstacle = too_small(first, want)
            where = obstacle.manifest, obstacle.path, pods.name
            yield Step(Stage.NODE, "failed", obstacle.message, *where, obstacle.fix)
    yield _placed(found, carried, want, pods, made)
    for each in found:
        if carried[each.pool.name]:
            yield from startup_step(site, each.pool, pods.name)


def _placed(
    found: list[Entry], carried: dict[str, dict[str, int]], want: Wanted, pods: PodSet, made: TraceResult
) -> Step:
    pools = tuple(name for name, held in carried.items() if held)
    types = tuple(dict.fromkeys(name for held in carried.values() for name in held))
    counts = {-(-want.count // each) for held in carried.values() for each in held.values()}
    place = made.placements.setdefault(pods.name, Placement())
    place.pools, place.instance_types = pools, types
    place.nodes = counts.pop() if len(counts) == 1 else None
    how = f"{place.nodes} of" if place.nodes is not None else "one of"
    manifest = next((each.pool.manifest for each in found if carried[each.pool.name]), None)
    return Step(
        Stage.NODE, "passed", f"{how} {', '.join(types) or 'no type'} of {', '.join(pools)}", manifest, (), pods.name
    )
