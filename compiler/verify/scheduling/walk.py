"""One workload through everything that has to let it through, by the objects of a tree alone.

Nobody else holds quota or nodes: what is refused here is refused in an empty cluster too.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.finding import Path
from compiler.manifest import Manifest
from compiler.verify.scheduling.amounts import Amounts, described
from compiler.verify.scheduling.flavors import REQUIRED, Choice, choose, topology_level
from compiler.verify.scheduling.limits import container_limits, namespace_steps
from compiler.verify.scheduling.matching import selects
from compiler.verify.scheduling.nodes import Entry, Wanted, entries, holders, most_pods, too_small, wanted
from compiler.verify.scheduling.policies import policy_steps
from compiler.verify.scheduling.quota import Key, Node
from compiler.verify.scheduling.site import KUEUE, Site
from compiler.verify.scheduling.startup import startup_step
from compiler.verify.scheduling.steps import Placement, Stage, Step, Walk
from compiler.verify.scheduling.work import PodSet, Work, requests
from compiler.verify.tree import dig, items

HOST = "kubernetes.io/hostname"
_STOPPED = ("Hold", "HoldAndDrain")


def walk(site: Site, work: Work, *, policies: bool = True) -> Walk:
    """Every step of some work up to the first that fails.

    Args:
        policies: whether gpuc's own admission policies are asked too, as far as their parameters say all.
    """
    made = Walk()
    for step in _steps(site, work, policies, made):
        made.steps.append(step)
        if step.failed:
            break
    return made


def _steps(site: Site, work: Work, policies: bool, made: Walk) -> Iterator[Step]:
    local = site.tree.find(KUEUE, "LocalQueue", work.queue, work.namespace)
    yield _local_queue(work, local)
    assert local is not None, "the walk ends where there is none"
    name = str(dig(local.body, "spec", "clusterQueue"))
    queue = site.quotas.get(name)
    if queue is None:
        message = f"ClusterQueue {name} is not there"
        yield Step(Stage.CLUSTER_QUEUE, "failed", message, local, ("spec", "clusterQueue"))
        return
    yield cluster_queue_step(site, work, queue)
    if policies:
        yield from policy_steps(site, work)
    used: dict[Key, int] = {}
    limits = container_limits(site, work.namespace)
    total: Amounts = {}
    chosen: list[tuple[PodSet, Amounts, list[Manifest]]] = []
    for pods in work.pod_sets:
        asked = requests(pods.pod, limits)
        total = {key: total.get(key, 0) + asked.get(key, 0) * pods.count for key in {**total, **asked}}
        choice = choose(site, queue, pods, asked, used)
        yield from admission_steps(queue, pods, choice)
        made.placements[pods.name] = Placement(tuple(choice.names), choice.borrowed)
        flavors = [found for each in choice.names if (found := site.flavor(each)) is not None]
        chosen.append((pods, asked, flavors))
    for pods, asked, flavors in chosen:
        yield from topology_steps(site, pods, asked, flavors, queue)
    yield from namespace_steps(site, work, limits, total)
    for pods, asked, flavors in chosen:
        yield from node_steps(site, pods, wanted(pods.pod, pods.count, asked, flavors), made)


def _local_queue(work: Work, local: Manifest | None) -> Step:
    if not work.queue:
        return Step(Stage.LOCAL_QUEUE, "failed", "no label kueue.x-k8s.io/queue-name: nothing admits it")
    if local is None:
        message = f"namespace {work.namespace or '(none)'} has no LocalQueue {work.queue}"
        return Step(Stage.LOCAL_QUEUE, "failed", message)
    stopped = dig(local.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return Step(Stage.LOCAL_QUEUE, "failed", f"stopPolicy is {stopped}", local, ("spec", "stopPolicy"))
    message = f"leads to ClusterQueue {dig(local.body, 'spec', 'clusterQueue')}"
    return Step(Stage.LOCAL_QUEUE, "passed", message, local, ("spec", "clusterQueue"))


def cluster_queue_step(site: Site, work: Work, queue: Node) -> Step:
    """Whether the ClusterQueue admits anything, and from this namespace.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/clusterqueue.go, inactiveReason
    """
    manifest = queue.manifest
    assert manifest is not None, "queues are objects"
    found = _inactive(site, queue, manifest)
    labels = site.tree.namespaces.get(work.namespace)
    if found is None and labels is not None:
        selector = dig(manifest.body, "spec", "namespaceSelector")
        if not selects(selector, labels):
            shown = ", ".join(f"{key}={value}" for key, value in labels.items() if not _is_standard(key))
            message = f"its namespaceSelector does not select namespace {work.namespace} ({shown or 'no labels'})"
            found = message, ("spec", "namespaceSelector")
    if found is None and work.priority and not site.tree.find(KUEUE, "WorkloadPriorityClass", work.priority):
        return Step(Stage.CLUSTER_QUEUE, "failed", f"WorkloadPriorityClass {work.priority} is not there")
    if found is not None:
        return Step(Stage.CLUSTER_QUEUE, "failed", found[0], manifest, found[1])
    if labels is None:
        message = f"is active; Namespace {work.namespace} is not in the tree, so its labels are not judged"
        return Step(Stage.CLUSTER_QUEUE, "not judged", message, manifest, ("spec", "namespaceSelector"))
    message = f"is active and selects namespace {work.namespace}"
    return Step(Stage.CLUSTER_QUEUE, "passed", message, manifest, ("spec", "namespaceSelector"))


def _inactive(site: Site, queue: Node, manifest: Manifest) -> tuple[str, Path] | None:
    stopped = dig(manifest.body, "spec", "stopPolicy")
    if stopped in _STOPPED:
        return f"stopPolicy is {stopped}", ("spec", "stopPolicy")
    for g, group in items(dig(manifest.body, "spec", "resourceGroups")):
        for f, each in items(dig(group, "flavors")):
            path: Path = ("spec", "resourceGroups", g, "flavors", f, "name")
            flavor = site.flavor(str(dig(each, "name")))
            if flavor is None:
                return f"ResourceFlavor {dig(each, 'name')} is not there: the queue admits nothing", path
            named = dig(flavor.body, "spec", "topologyName")
            if named is not None and site.topology(flavor) is None:
                return f"Topology {named} of flavor {flavor.name} is not there: the queue admits nothing", path
    return None


def _is_standard(key: str) -> bool:
    return key.startswith(("kubernetes.io/", "pod-security.kubernetes.io/"))


def admission_steps(queue: Node, pods: PodSet, choice: Choice) -> Iterator[Step]:
    """Whether resources are covered, a flavor takes the pods, and quota is enough; what fails, with all reasons."""
    manifest = queue.manifest
    failed = [each for each in choice.attempts if each.obstacle]
    reasons = "; ".join(reason for each in failed for reason in each.reasons)
    uncovered = next((each for each in failed if each.obstacle == "resource"), None)
    if uncovered is not None:
        yield Step(Stage.RESOURCES, "failed", reasons, manifest, uncovered.path, pods.name)
    yield Step(Stage.RESOURCES, "passed", "every resource is covered", manifest, ("spec", "resourceGroups"), pods.name)
    short = [each for each in failed if each.obstacle == "quota"]
    if not choice.flavors and not short:
        first = failed[0] if failed else None
        path = first.path if first else ("spec", "resourceGroups")
        message = reasons or "the queue has no flavor"
        yield Step(Stage.FLAVOR, "failed", message, first.manifest if first else manifest, path, pods.name)
        return
    if not choice.flavors:
        fits = ", ".join(each.flavor for each in short)
        yield Step(Stage.FLAVOR, "passed", f"{fits} would do", manifest, short[0].path[:-1], pods.name)
        yield Step(Stage.QUOTA, "failed", reasons, short[0].manifest, short[0].path, pods.name)
        return
    taken = next((each for each in choice.attempts if each.flavor in choice.names and not each.obstacle), None)
    flavor, path = (taken.manifest, taken.path) if taken else (manifest, ("spec", "resourceGroups"))
    told = ", ".join(choice.names) or "the pods ask for nothing"
    yield Step(Stage.FLAVOR, "passed", told, flavor, ("spec",), pods.name)
    own = f"borrows {described(choice.borrowed)}" if choice.borrowed else "within the queue's own"
    yield Step(Stage.QUOTA, "passed", own, manifest, path, pods.name)


def topology_steps(site: Site, pods: PodSet, asked: Amounts, flavors: list[Manifest], queue: Node) -> Iterator[Step]:
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
        fits = f"allows to fit only {room} out of" if room else "doesn't allow to fit any of"
        yield Step(Stage.TOPOLOGY, "failed", f'topology "{name}" {fits} {pods.count} pod(s)', flavor, path, pods.name)
    told = f'topology "{name}" has room for {room} pod(s)'
    if _required(pods) not in ("", HOST, *site.domain_nodes):
        told += f", if all nodes are in one domain of {_required(pods)}, which no object says"
    yield Step(Stage.TOPOLOGY, "passed", told, flavor, path, pods.name)


def _unsaid(site: Site, found: list[Entry], asked: Amounts) -> str:
    """What of the asked only the nodes themselves know: parts of a tree do not say what runs on existing ones."""
    if site.tree.is_whole or not found or any(each.pool.replicas is None for each in found):
        return ""
    said = {name for each in found for instance in each.types for name in each.pool.room(instance)}
    names = ", ".join(name for name in asked if name not in said)
    return f"no object says how much {names} existing nodes have" if names else ""


def topology_room(site: Site, static: list[Entry], pods: Wanted, level: str) -> int:
    """How many of the pods existing nodes carry, within one domain of a level where one is required."""
    if not level:
        return sum(most_pods(each, pods) for each in static)
    nodes = 1 if level == HOST else site.domain_nodes.get(level)
    return max((most_pods(each, pods, nodes) for each in static), default=0)


def _required(pods: PodSet) -> str:
    return topology_level(pods.notes) or "" if dig(pods.notes, REQUIRED) is not None else ""


def node_steps(site: Site, pods: PodSet, want: Wanted, made: Walk) -> Iterator[Step]:
    """A pool that the pods may enter, a type that holds one, nodes for all, and no taint that stays."""
    if not site.pools:
        yield Step(Stage.NODE_POOL, "not judged", "the tree has no NodePool", pods=pods.name)
        return
    found, misses = entries(site, want)
    made.is_static = bool(found) and all(each.pool.replicas is not None for each in found)
    if not found:
        message = "; ".join(each.message for each in misses[:4])
        yield Step(Stage.NODE_POOL, "failed", message, misses[0].manifest, misses[0].path, pods.name)
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
            yield Step(Stage.NODE, "failed", message, first.pool.manifest, ("spec", "limits"), pods.name)
        else:
            obstacle = too_small(first, want)
            yield Step(Stage.NODE, "failed", obstacle.message, obstacle.manifest, obstacle.path, pods.name)
    yield _placed(found, carried, want, pods, made)
    for each in found:
        if carried[each.pool.name]:
            yield from startup_step(site, each.pool, pods.name)


def _placed(found: list[Entry], carried: dict[str, dict[str, int]], want: Wanted, pods: PodSet, made: Walk) -> Step:
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
