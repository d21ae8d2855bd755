"""Rehearses one spec: applies the output to a control plane, and runs the test cases in batches."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatchcase
from math import ceil
from pathlib import Path

from msgspec import Struct, field, structs

from gpuc.diagnostics.usage import UsageError
from gpuc.kubernetes.amounts import Amounts, total
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.manifest.manifest import Manifest
from gpuc.model import ClusterQueue, Pool
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.trace.node_agents import without_agent_requests
from gpuc_rehearsal.apply import ApplyResult, apply_objects, measured
from gpuc_rehearsal.autoscaler import autoscaler_of, pool_kind
from gpuc_rehearsal.client import ApiError, WaitError
from gpuc_rehearsal.context import CACHE_SECONDS, RehearsalContext
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.expectation import Quota, cluster_queues, expect, owner
from gpuc_rehearsal.health import ObjectProblem, place_static_nodes
from gpuc_rehearsal.outcome import Outcome, Request, refused
from gpuc_rehearsal.plane import ControlPlane
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.result import Result, find_problems, locate_results
from gpuc_rehearsal.substitute import not_tested, replacement_objects, settings, split_by_kind, substitutions
from gpuc_rehearsal.suites import Case, CaseResult, all_cases

Progress = Callable[[str], None]
STATIC_NODES_SECONDS = 60
MAX_PARALLEL = 200
"""Maximum number of test cases that run at the same time."""
REPEATED_MAX = 5
"""Maximum number of different test cases of a batch that run again alone."""


class Batch(Struct):
    """Test cases that run at the same time, and the quota and nodes that they need together."""

    quota: Quota
    cases: list[Case] = field(default_factory=list)
    work: dict[str, tuple[Request, ...]] = field(default_factory=dict)
    """Requests by the name of the node pool on which their pods run."""
    refused: list[tuple[ClusterQueue, Request, Outcome]] = field(default_factory=list)
    """(ClusterQueue, request, expected outcome) for every request that Kueue must refuse."""
    blocked_queues: set[str] = field(default_factory=set)
    """ClusterQueues with StrictFIFO that have a refused request: Kueue admits no later request in them."""
    queues_with_requests: set[str] = field(default_factory=set)

    def add(self, case: Case) -> bool:
        """Adds a test case to the batch if this changes no outcome in the batch. Returns whether the case is added."""
        is_added = case.demand is None or self._reserve(case.queue, case.demand)
        if is_added:
            self.cases.append(case)
        return is_added

    def _reserve(self, name: str, request: Request) -> bool:
        """Adds a request to the demand unless an outcome would change; returns whether the request was added."""
        spec = self.quota.spec
        queue = next(queue for queue in cluster_queues(spec.cluster) if queue.name == name)
        expected = expect(spec, queue, request)
        refused = expected.verdict == "refused"
        strict = owner(spec.cluster, queue).spec.strategy == "strict"
        if queue.name in self.blocked_queues or (strict and refused and queue.name in self.queues_with_requests):
            return False
        quota, work = Quota(spec, dict(self.quota.usage)), dict(self.work)
        if not refused:
            pool = next(pool for pool in queue.pools if pool.name == expected.flavor)
            if expected.verdict != "pending":
                work[pool.name] = (*self.work.get(pool.name, ()), request)
            if pool.name in self.work and _max_nodes(pool, work.get(pool.name, ())) > pool.nodes_max:
                return False
            quota.add_usage(queue.name, pool.name, request.total)
        if expect(spec, queue, request, self.quota.usage) != expected:
            return False
        # The usage of one flavor changes no decision about requests for the node pool of another flavor.
        affected = [row for row in self.refused if not refused and row[1].pool in ("", expected.flavor)]
        if any(expect(spec, other, row, quota.usage) != outcome for other, row, outcome in affected):
            return False
        self.quota, self.work = quota, work
        if refused:
            self.refused.append((queue, request, expected))
        self.queues_with_requests.add(queue.name)
        if strict and refused:
            self.blocked_queues.add(queue.name)
        return True


def schedule(spec: CompiledSpec, cases: Iterable[Case]) -> list[list[Case]]:
    """Returns the batches of test cases, in the order in which they run.

    Test cases with the same batch name are in one batch, unless they would change each other's outcome.
    """
    batches: dict[str, list[Batch]] = {}
    for case in cases:
        of_name = batches.setdefault(case.batch or case.suite, [])
        if not any(batch.add(case) for batch in of_name):
            of_name.append(Batch(Quota(spec)))
            of_name[-1].add(case)
    return [batch.cases for of_name in batches.values() for batch in of_name]


def _max_nodes(pool: Pool, work: Iterable[Request]) -> int:
    """Returns the maximum number of nodes that requests need.

    A pod that requests more than half of a node needs a separate node; smaller pods run together. If a batch has large
    and small pods, the small pods may need one more node, because the autoscaler starts nodes as the pods arrive.
    """
    requests = list(work)
    large = [request for request in requests if _node_fraction(pool, request.pod) > 0.5]
    small = total(request.total for request in requests if request not in large)
    extra_node = 1 if large and small else 0
    return sum(request.pods for request in large) + ceil(_node_fraction(pool, small)) + extra_node


def _node_fraction(pool: Pool, amounts: Amounts) -> float:
    """Returns the fraction of a node that the amounts use: the maximum over all resources."""
    return max((amount / pool.node[name] for name, amount in amounts.items() if pool.node.get(name)), default=0)


def run_cases(
    context: RehearsalContext, cases: Iterable[Case], progress: Callable[[CaseResult], None], repeated_max: int = 0
) -> list[CaseResult]:
    """Runs all test cases, and deletes their objects after each batch.

    A test case with an unexpected outcome runs a second time, alone. The reason: programs can make mistakes if many
    test cases run at the same time. For example, Kueue 0.19 gives one host to two workloads of one scheduling cycle.

    Args:
        progress: receives the result after every test case, but not after its second run.
        repeated_max: if more test cases of a batch have an unexpected outcome, none of them runs again.

    Source: https://github.com/kubernetes-sigs/kueue/issues/14570
    """
    slow = replace(context, poll_s=CACHE_SECONDS)
    static = {pool.scaling.static_node_pool for pool in context.cluster.pools if pool.scaling}
    autoscaler = autoscaler_of(context.cluster)

    def run(case: Case) -> CaseResult:
        result = _run(slow, case)
        progress(result)
        return result

    def clear() -> None:
        # The nodes of static NodePools stay.
        claims = context.client.list_all(*autoscaler.claim) if autoscaler else ()
        slow.clear(nodes=any(claim["metadata"]["labels"][NODE_POOL] not in static for claim in claims))

    results: list[CaseResult] = []
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        for batch in schedule(context.spec, cases):
            found = list(pool.map(run, batch))
            clear()
            different = [index for index, result in enumerate(found) if not result.passed]
            for index in different if len(batch) > 1 and len(different) <= repeated_max else ():
                found[index] = structs.replace(_run(slow, found[index].case), beside=found[index].actual)
                clear()
            results += found
    return results


def _run(context: RehearsalContext, case: Case) -> CaseResult:
    started = time.monotonic()
    try:
        actual = case.action(context)
    except WaitError as error:
        actual = Outcome("unanswered", message=str(error))
    except ApiError as error:
        actual = refused(error)
    return CaseResult(case, actual, time.monotonic() - started)


@contextmanager
def rehearsal(
    root: Path, file: str, patterns: Sequence[str], programs: Programs, crds: Path | None, progress: Progress
) -> Iterator[list[Result]]:
    """Rehearses one spec, and yields its result in a list. The control plane ends with the `with` block.

    Args:
        patterns: select the test cases; empty for all test cases.
        crds: a folder of CustomResourceDefinitions that replace those of the components.

    Raises:
        UsageError: when the patterns match no test case.
    """
    spec = compiled_spec(root, file, for_rehearsal=True)
    cases = [case for case in all_cases(spec) if not patterns or any(matches(case, pattern) for pattern in patterns)]
    if not cases:
        raise UsageError(f"no test case of {spec.cluster.name} matches {' or '.join(patterns)}")
    definitions_used = definitions(programs, crds, spec.cluster.frameworks, [spec.cluster.spec.cloud.substrate.folder])
    name = spec.cluster.name

    def report_step(step: str) -> None:
        progress(f"{name}: {step}")

    started = time.monotonic()
    report_step("starting the control plane")
    with ControlPlane(programs, settings(spec, definitions_used), report_step) as plane, _interruptible(plane):
        seconds = {"start": time.monotonic() - started}
        served, unserved = split_by_kind(plane.client, spec.synced)
        applied = _apply_objects(plane, spec, served, report_step)
        seconds |= applied.seconds
        with measured(seconds, "test cases"):
            results = _counted_cases(RehearsalContext(spec, plane.client), cases, report_step)
        plane.require_alive()
        result = Result(
            cluster=name,
            file=file,
            objects=applied.objects,
            problems=find_problems(spec, applied),
            cases=locate_results(spec, results),
            substitutions=tuple(substitutions(spec, definitions_used)),
            not_tested=not_tested(spec.cluster, unserved),
            seconds=seconds,
            memory_mib=plane.memory_mib(),
            kubeconfig=plane.site.kubeconfig,
        )
        yield [result]


def _counted_cases(context: RehearsalContext, cases: list[Case], report_step: Progress) -> list[CaseResult]:
    """Runs the test cases, and reports after each test case how many have finished and how many have failed."""
    finished = failed = 0

    def count(result: CaseResult) -> None:
        nonlocal finished, failed
        finished, failed = finished + 1, failed + (not result.passed)
        case = result.case
        report_step(f"{finished} of {len(cases)} test cases, {failed} different: {case.suite}/{case.name}")

    return run_cases(context, cases, count, REPEATED_MAX)


def _apply_objects(
    plane: ControlPlane, spec: CompiledSpec, objects: list[Manifest], report_step: Progress
) -> ApplyResult:
    """Applies objects and waits for the nodes of static pools. A pool whose nodes are missing is unhealthy."""
    simulated = without_agent_requests(spec.cluster, objects)
    applied = apply_objects(plane.client, simulated, replacement_objects(spec.cluster), report_step)
    report_step("nodes of static pools")
    with measured(applied.seconds, "static nodes"):
        incomplete = place_static_nodes(plane.client, spec.cluster, STATIC_NODES_SECONDS)
    _, kind = pool_kind(spec.cluster)
    pools = (manifest for manifest in spec.synced if manifest.kind == kind and manifest.name in incomplete)
    applied.unhealthy += [ObjectProblem(pool, incomplete[pool.name]) for pool in pools]
    return applied


def matches(case: Case, pattern: str) -> bool:
    """Returns whether a pattern matches "SUITE/NAME" of a test case, as a glob with "*" or as a part of the text."""
    glob = pattern if any(character in pattern for character in "*?[") else f"*{pattern}*"
    return fnmatchcase(f"{case.suite}/{case.name}", glob)


@contextmanager
def _interruptible(plane: ControlPlane) -> Iterator[None]:
    """Stops the control plane at once after Ctrl-C or SIGTERM, so that test cases do not wait any longer."""

    def interrupted(number: int, frame: object) -> None:
        plane.__exit__(None, None, None)
        raise KeyboardInterrupt

    handlers = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
