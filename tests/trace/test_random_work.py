"""Traces of random work on random specs, and of the requests of test cases: the stage of a refusal, and known steps."""

import pytest

from gpuc.manifest.manifest import manifest_of
from gpuc.model import ClusterQueue
from gpuc.pipeline.stages import CompiledSpec
from gpuc.trace import Stage, trace_workload, workload_of
from gpuc_rehearsal.expectation import cluster_index, cluster_queues
from gpuc_rehearsal.outcome import Request
from gpuc_rehearsal.suites import all_cases
from gpuc_rehearsal.suites.jobs import Work, job_of
from tests.conformance.differential import kept_cases, random_cases
from tests.conformance.shared_plane import compiled
from tests.conftest import EXAMPLES, compiled_example
from tests.lanes import reduced

SPECS, GANGS, SEED = reduced(8), 12, 7
SUITES = ("smallest", "full_node", "efa", "shares", "gangs", "borrowing", "topology")
STAGES = {
    "unavailable in ClusterQueue": Stage.RESOURCES,
    "insufficient quota": Stage.QUOTA,
    "doesn't match node affinity": Stage.FLAVOR,
    "TopologyAwareScheduling": Stage.FLAVOR,
    "requested level": Stage.FLAVOR,
    'topology "': Stage.TOPOLOGY,
}
"""The stage that refuses, by the words of Kueue's message."""


def traced(spec: CompiledSpec, queue: ClusterQueue, request: Request) -> tuple[str, Stage | None]:
    """The verdict and the stage of a refusal. No step of the output of gpuc is unknown."""
    workload = workload_of(manifest_of(job_of(spec.cluster, Work("", queue, request))))
    assert workload is not None
    found = trace_workload(cluster_index(spec), workload, admission=False)
    assert [step.message for step in found.unknown] == [], request
    if found.verdict != "refused":
        return found.verdict, None
    assert found.failure is not None
    stages = {stage for words, stage in STAGES.items() if words in found.failure.message}
    assert found.failure.stage in stages, (request, found.failure)
    return found.verdict, found.failure.stage


def test_random_work_on_random_specs_has_a_known_end() -> None:
    ends = set()
    for case in (*kept_cases(), *random_cases(SPECS, GANGS, SEED)):
        spec = compiled(case.tree)
        queues = {queue.name: queue for queue in cluster_queues(spec.cluster)}
        ends |= {traced(spec, queues[name], request) for name, request in case.work}
    assert {verdict for verdict, _ in ends} == {"admitted", "refused", "pending"}
    assert {stage for _, stage in ends} >= {Stage.RESOURCES, Stage.QUOTA, Stage.FLAVOR}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_requests_of_test_cases_have_a_known_end(name: str) -> None:
    spec = compiled_example(name)
    queues = {queue.name: queue for queue in cluster_queues(spec.cluster)}
    for case in all_cases(spec, SUITES):
        if case.demand is not None:
            expected = "admitted" if case.expected.verdict in ("complete", "bound") else case.expected.verdict
            assert traced(spec, queues[case.queue], case.demand)[0] == expected, case.name
