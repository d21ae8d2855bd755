"""Expected outcomes of requests; a rehearsal compares them with the outcomes of a real control plane."""

from functools import partial

import pytest
from msgspec.structs import replace

from gpuc.model import ClusterQueue
from gpuc.model.names import EFA, GPU
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.expectation import cluster_queues, expect, predict
from gpuc_rehearsal.outcome import Outcome, Request, agrees
from gpuc_rehearsal.suites import Case, all_cases
from gpuc_rehearsal.suites.jobs import Work, job_of
from tests.conftest import EXAMPLES, compiled_example

from .conftest import Variant

SUITES = ("smallest", "full_node", "efa", "shares", "gangs", "borrowing", "preemption", "reclaim", "topology")
OTHERS = ("policies", "boundaries")


@pytest.fixture
def prod() -> CompiledSpec:
    return compiled_example("prod-use1")


def queue_of(spec: CompiledSpec, name: str) -> ClusterQueue:
    return next(queue for queue in cluster_queues(spec.cluster) if queue.name == name)


def nodes_of(spec: CompiledSpec, pool: str, pods: int) -> Request:
    node = next(candidate.node for candidate in spec.cluster.pools if candidate.name == pool)
    return Request(dict(node), pods, pool)


def gpus(count: int, pods: int = 1, pool: str = "") -> Request:
    return Request({"cpu": 1000, "memory": 2**30, "ephemeral-storage": 2**30, GPU: count}, pods, pool)


def cases_by_name(spec: CompiledSpec) -> dict[tuple[str, str], Case]:
    return {(case.suite, case.name): case for case in all_cases(spec, SUITES)}


def test_a_gang_within_the_nominal_quota_borrows_nothing(prod: CompiledSpec) -> None:
    actual = expect(prod, queue_of(prod, "research"), nodes_of(prod, "train-h100", 10))
    assert (actual.verdict, actual.flavor, actual.borrowed) == ("admitted", "train-h100", ())
    assert (actual.instance_types, actual.nodes) == (("p5.48xlarge",), 10)


def test_a_gang_above_the_nominal_quota_borrows_exactly_the_rest(prod: CompiledSpec) -> None:
    actual = expect(prod, queue_of(prod, "research"), nodes_of(prod, "train-h100", 16))
    assert actual.verdict == "admitted"
    assert {(GPU, "48"), (EFA, "192")} <= set(actual.borrowed)


def test_a_pod_larger_than_a_node_is_admitted_and_pending_forever(prod: CompiledSpec) -> None:
    actual = expect(prod, queue_of(prod, "research"), gpus(4, 1, "lab-h100"))
    assert (actual.verdict, actual.by, actual.flavor) == ("pending", "Karpenter", "lab-h100")


def test_more_pods_than_the_nodes_of_a_pool_can_run_stay_pending(variant: Variant) -> None:
    spec = variant(lambda spec: spec["pools"]["train-h100"]["nodes"].update(max=9))
    assert expect(spec, queue_of(spec, "research"), nodes_of(spec, "train-h100", 9)).nodes == 9
    assert expect(spec, queue_of(spec, "research"), nodes_of(spec, "train-h100", 10)).verdict == "pending"


def test_a_resource_that_the_queue_does_not_cover_is_refused(prod: CompiledSpec) -> None:
    actual = expect(prod, queue_of(prod, "research-cpu"), gpus(1))
    assert actual.message == "resource nvidia.com/gpu unavailable in ClusterQueue"


def test_flavors_without_quota_for_the_slice_are_skipped(prod: CompiledSpec) -> None:
    request = Request({"cpu": 1000, "memory": 2**30, "nvidia.com/mig-1g.10gb": 1})
    assert expect(prod, queue_of(prod, "research"), request).flavor == "lab-h100"


def test_missing_memory_requests_count_with_the_default_of_the_namespace() -> None:
    assert Request({GPU: 1}, 3).total == {"cpu": 300, "memory": 3 * 2**28, "ephemeral-storage": 3 * 2**30, GPU: 3}


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("pool", "unit", "count"), [("train-h100", "nodes", 9), ("dev-l4", "shares", 95), ("general", "nodes", 4)]
)
def test_cases_fail_if_a_quota_is_off_by_one(
    prod: CompiledSpec, variant: Variant, pool: str, unit: str, count: int
) -> None:
    """With the quota of the other spec, the outcomes are not the expected ones of this cluster."""
    other = variant(lambda spec: spec["queues"]["research"]["quota"][pool].update({unit: count}))
    name = "research-cpu" if pool == "general" else "research"
    affected = [
        case for case in cases_by_name(prod).values() if (case.suite, case.queue, case.pool) == ("gangs", name, pool)
    ]
    assert {case.expected.verdict for case in affected} == {"admitted", "refused"}
    for case in affected:
        assert isinstance(case.action, partial)
        actual = expect(other, queue_of(other, name), case.action.keywords["work"].request)
        assert not agrees(case.expected, actual), case.name


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_policies_admit_every_request_that_kueue_decides_about(name: str) -> None:
    spec = compiled_example(name)
    queues = {queue.name: queue for queue in cluster_queues(spec.cluster)}
    cases = [case for case in all_cases(spec, SUITES) if case.demand is not None]
    assert len(cases) > 50
    for case in cases:
        assert case.demand is not None
        job = job_of(spec.cluster, Work("", queues[case.queue], case.demand))
        actual, expected = predict(spec, job, policies=True), case.expected
        verdict = "admitted" if expected.verdict in ("complete", "bound") else expected.verdict
        assert (actual.verdict, actual.by) == (verdict, expected.by), case.name


@pytest.mark.parametrize("name", EXAMPLES)
def test_cases_are_distinct_and_a_third_are_refusals(name: str) -> None:
    work, others = list(all_cases(compiled_example(name), SUITES)), list(all_cases(compiled_example(name), OTHERS))
    assert len({(case.suite, case.queue, case.pool, case.request) for case in work}) == len(work)
    assert len({(case.suite, case.name) for case in others}) == len(others)
    assert all(sum(case.is_refusal for case in cases) * 3 >= len(cases) for cases in (work, others))


def test_the_expected_flavor_is_the_pool_of_the_case(prod: CompiledSpec) -> None:
    for case in cases_by_name(prod).values():
        if case.expected.verdict in ("admitted", "bound", "complete", "preempted"):
            assert case.expected.flavor == case.pool, case.name


def test_only_values_of_the_expected_outcome_are_compared() -> None:
    actual = Outcome("bound", flavor="a", pool="a", instance_types=("x",), nodes=2, message="message of a controller")
    assert agrees(Outcome("bound", instance_types=("x", "y"), message="message of"), actual)
    assert not agrees(Outcome("bound", nodes=1), actual)
    assert not agrees(Outcome("complete"), actual)
    assert not agrees(replace(actual, flavor="b"), actual)
