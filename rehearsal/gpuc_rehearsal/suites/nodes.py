"""Test cases whose pods run on nodes: small requests, full nodes, EFA, MIG slices, GPU shares and network topology."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from gpuc.catalog.records import InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.names import EFA, HUGEPAGES, SHARED_GPU
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.expectation import cluster_queues, expect, predict
from gpuc_rehearsal.health import BLOCK_NODES
from gpuc_rehearsal.outcome import Outcome, Request
from gpuc_rehearsal.suites import Case
from gpuc_rehearsal.suites.jobs import SMALL, Work, job_case, job_of, kueue_decision, placed, submit

STEPS = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
"""The smallest amount, by resource, by which a request can exceed a node. Policies limit all other resources."""
UNMETERED_DEVICE = "a container requests a device for which this tenant has no quota"
"""A part of the message of the policy gpu-resources."""
FULL, BEYOND = "one node of shares", "two nodes of shares"
"""Names of batches. Test cases for all resources of a pool can be in one batch: every resource can fill the node."""


def smallest(spec: CompiledSpec) -> Iterator[Case]:
    """Yields a test case for each queue and pool: a pod requests one GPU, slice or share, or a little cpu without GPUs.

    All these pods fit at the same time, so they share a batch. Each pod must complete on a node of the pool.
    """
    for queue in cluster_queues(spec.cluster):
        for pool_quota in queue.pool_quotas:
            for resource in pool_quota.pool.gpu_resource_names or ("",):
                request = Request(SMALL | ({resource: 1} if resource else {}), pool=pool_quota.pool.name)
                description = f"one {resource}" if resource else f"{SMALL[CPU]}m cpu"
                expected = _completed(expect(spec, queue, request))
                yield job_case("smallest", Work("", queue, request), description, pool_quota.path, expected)


def _completed(expected: Outcome) -> Outcome:
    """Returns the outcome of a pod that completes. Other pods may use its node, but one pod needs only one node."""
    if expected.verdict != "admitted":
        return expected
    return replace(expected, verdict="complete", nodes=1, borrowed=None)


def _bound(expected: Outcome) -> Outcome:
    return replace(expected, verdict="bound", borrowed=None) if expected.verdict == "admitted" else expected


def efa(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for EFA interfaces and huge pages, for each ClusterQueue and pool.

    The first test case requests one EFA interface, and in a pool with GPUs also one GPU. The second test case requests
    all EFA interfaces and half of the huge pages, in a pool that has both.
    """
    for queue in cluster_queues(spec.cluster):
        for pool in queue.pools:
            small = SMALL | dict.fromkeys(pool.gpu_resource_names[:1], 1)
            yield _efa_case(spec, queue, pool, small | {EFA: 1}, "one EFA interface")
            if pool.has_efa and HUGEPAGES in pool.node:
                most = small | {EFA: pool.node[EFA], HUGEPAGES: pool.node[HUGEPAGES] // (4 * MIB) * 2 * MIB}
                yield _efa_case(spec, queue, pool, most, "all EFA interfaces and half of the huge pages")


def _efa_case(spec: CompiledSpec, queue: ClusterQueue, pool: Pool, pod: Amounts, description: str) -> Case:
    work = Work("", queue, Request(pod, pool=pool.name))
    expected = _completed(expect(spec, queue, work.request))
    if expected.verdict != "complete" and predict(spec, job_of(spec.cluster, work), policies=True).by == "policy":
        expected = Outcome("refused", by="policy", message=UNMETERED_DEVICE)
    origin = (*pool.path, "fabric") if pool.has_efa else pool.path
    return job_case("efa", work, description, origin, expected)


def full_node(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for each pool: a pod as large as a node of each type, and a pod larger than the largest node.

    The first pods must run, and the larger pod must stay pending. The pods use the first ClusterQueue with enough
    quota.
    """
    for pool in spec.cluster.pools:
        for instance in pool.instances:
            full = full_amounts(pool, instance)
            request, origin = Request(full, pool=pool.name), (*pool.path, "instances")
            queues = (queue for queue in cluster_queues(spec.cluster) if pool in queue.pools)
            queue = next((part for part in queues if expect(spec, part, request).verdict == "admitted"), None)
            if queue is None:
                continue
            work, expected = Work("", queue, request, keeps_running=True), _bound(expect(spec, queue, request))
            yield job_case("full node", work, f"a full {instance.type}", origin, expected)
            if instance is largest_instance(pool):
                yield from _too_large(spec, queue, pool, full)


def full_amounts(pool: Pool, instance: InstanceType) -> Amounts:
    """Returns the requests of a pod that fills a node, but 1 GPU share, because more shares add no compute."""
    return {name: 1 if name == SHARED_GPU else amount for name, amount in pool.tenant_allocatable(instance).items()}


def largest_instance(pool: Pool) -> InstanceType:
    """Returns the instance type of a pool whose nodes offer the most cpu to tenants."""
    return max(pool.instances, key=lambda instance: pool.tenant_allocatable(instance)[CPU])


def _too_large(spec: CompiledSpec, queue: ClusterQueue, pool: Pool, full: Amounts) -> Iterator[Case]:
    """Yields test cases that request more of one resource than the largest node has, and little of all others."""
    small = SMALL | dict.fromkeys(pool.gpu_resource_names[:1], 1)
    for resource, step in STEPS.items():
        request = Request(small | {resource: full[resource] + step}, pool=pool.name)
        expected = replace(expect(spec, queue, request), borrowed=None)
        if expected.verdict == "pending":
            expected = too_large(spec.cluster, expected)
        description, origin = f"a little more {resource} than a node", (*pool.path, "instances")
        yield job_case("full node", Work("", queue, request), description, origin, expected)


def too_large(cluster: Cluster, expected: Outcome) -> Outcome:
    """Returns the outcome of a pod that is too large for all instance types, with the message of the autoscaler."""
    autoscaler = autoscaler_of(cluster)
    is_refused = autoscaler and expected.by == autoscaler.name
    return replace(expected, message=autoscaler.too_large) if autoscaler and is_refused else expected


def topology(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for static pools in which pods must run in one block of the network topology.

    For each ClusterQueue and pool, there are gangs of one pod, of a block, and of one pod more, and a too large pod.
    """
    numbers: Counter[str] = Counter()
    for queue in cluster_queues(spec.cluster):
        for pool in queue.pools:
            if pool.is_static and "block" in (pool.spec.topology or ()):
                numbers[pool.name] += 1
                block, full = min(BLOCK_NODES, pool.nodes_max), dict(pool.node)
                gangs = (Request(full, pods, pool.name, one_block=True) for pods in (1, block, block + 1))
                requests = {f"{gang.pods} full nodes in one block": gang for gang in gangs}
                requests["1 full nodes and 1m cpu more"] = Request(full | {CPU: full[CPU] + 1}, 1, pool.name)
                for description, request in requests.items():
                    work, origin = Work("", queue, request, keeps_running=True), (*pool.path, "topology")
                    expected, batch = _bound(expect(spec, queue, request)), f"topology {numbers[pool.name]}"
                    yield job_case("topology", work, description, origin, expected, batch)


def shares(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for the GPUs, MIG slices and GPU shares of every pool.

    Each pod requests one GPU, slice or share, and the same fraction of the cpu and memory. The pods fill a node, and
    one more pod needs a second node.
    """
    for pool in spec.cluster.gpu_pools:
        queue = next((queue for queue in cluster_queues(spec.cluster) if pool in queue.pools), None)
        if queue is None:
            continue
        for resource, pod in pool.portions.items():
            full, beyond = (Request(pod, pool.node[resource] + extra, pool.name) for extra in (0, 1))
            cases = [
                _shares_case(spec, Work("", queue, request, keeps_running=True), pool, resource, batch)
                for request, batch in ((full, FULL), (beyond, BEYOND))
            ]
            if any(case.expected.verdict != "bound" for case in cases):
                yield from cases
                continue
            description = f"{full.pods} pods with one {resource}, and one more"
            work = Work("", queue, beyond, keeps_running=True)
            case = job_case("shares", work, description, cases[0].origin, cases[1].expected, FULL)
            jobs = [
                replace(work, name=f"shares {case.name} {number}", request=request)
                for number, request in enumerate((full, replace(full, pods=1)))
            ]
            yield replace(case, action=partial(fill, jobs=jobs, nodes=None if pool.always_running else 1))


def _shares_case(spec: CompiledSpec, work: Work, pool: Pool, resource: str, batch: str) -> Case:
    """Returns a test case with all pods of a request. Some nodes may exist already, so pods may spread over them."""
    expected = _bound(expect(spec, work.queue, work.request))
    if expected.verdict == "bound" and pool.always_running:
        expected = replace(expected, nodes=None)
    description = f"{work.request.pods} pods with one {resource}"
    return job_case("shares", work, description, (*pool.path, "sharing"), expected, batch)


def fill(context: RehearsalContext, jobs: list[Work], nodes: int | None) -> Outcome:
    """Submits Jobs one after another, waits until their pods have nodes, and returns the number of nodes of all Jobs.

    nodes: the number of nodes that the first Job must get; None for any number.
    """
    node_names: set[str] = set()
    for work in jobs:
        job = submit(context, work)
        decision = kueue_decision(context, job)
        actual = placed(context, job, work, decision) if decision.verdict == "admitted" else decision
        if actual.verdict != "bound":
            return actual
        node_names |= {pod["spec"]["nodeName"] for pod in context.pods_of(job)}
        if work is jobs[0] and nodes not in (None, len(node_names)):
            message = f"the first {work.request.pods} pods run on {len(node_names)} nodes"
            return replace(actual, verdict="unanswered", message=message)
    return replace(actual, nodes=len(node_names))
