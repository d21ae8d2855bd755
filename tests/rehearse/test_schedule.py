"""The schedule of test cases."""

from typing import Any

import pytest

from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.context import RehearsalContext
from gpuc_rehearsal.expectation import Quota, cluster_queues, expect
from gpuc_rehearsal.outcome import Outcome
from gpuc_rehearsal.runner import run_cases, schedule
from gpuc_rehearsal.suites import Case, CaseResult, all_cases

from ..conftest import EXAMPLES, compiled_example
from .test_expectation import SUITES


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_case_runs_once_and_the_demand_of_a_batch_is_within_every_quota(name: str) -> None:
    spec = compiled_example(name)
    queues = {queue.name: queue for queue in cluster_queues(spec.cluster)}
    cases = list(all_cases(spec, SUITES))
    batches = schedule(spec, cases)
    assert sorted(id(case) for batch in batches for case in batch) == sorted(map(id, cases))
    for batch in batches:
        quota = Quota(spec)
        for case in batch:
            if case.demand and (actual := expect(spec, queues[case.queue], case.demand)).verdict != "refused":
                quota.add_usage(case.queue, actual.flavor, case.demand.total)
        assert all(
            quota.available(queue, pool.name, resource) >= 0
            for queue in queues.values()
            for pool in queue.pools
            for resource in queue.covered_resources
        )


def test_a_refused_case_of_a_strict_queue_is_the_only_one_in_its_batch() -> None:
    spec = compiled_example("train-usw2")
    for batch in schedule(spec, all_cases(spec, SUITES)):
        strict = [case for case in batch if case.queue == "safety" and case.demand]
        assert len(strict) == 1 or not any(case.expected.verdict == "refused" for case in strict)


def test_cases_without_demand_share_a_batch(prod_spec: CompiledSpec) -> None:
    cases = [case for case in all_cases(prod_spec, ("preemption",)) if case.batch == "preemption 1"]
    assert schedule(prod_spec, cases) == [cases]


class EmptyPlane(Client):
    """A control plane without objects, whose kinds are all unknown."""

    def __init__(self) -> None:
        pass

    def list_all(self, api: str, kind: str, namespace: str = "", labels: str = "") -> list[Object]:
        return []

    def delete_all(self, api: str, kind: str, namespace: str = "", labels: str = "") -> None:
        pass

    def serves(self, api: str, kind: str) -> bool:
        return False


@pytest.mark.parametrize(
    ("outcomes", "repeated_max", "passed", "beside"),
    [
        (["pending", "bound"], 1, True, "pending"),
        (["pending", "refused"], 1, False, "pending"),
        (["pending"], 0, False, None),
        (["bound"], 1, True, None),
    ],
)
def test_a_different_case_runs_again_alone(
    prod_spec: CompiledSpec, outcomes: list[Any], repeated_max: int, passed: bool, beside: str | None
) -> None:
    actual = iter(map(Outcome, outcomes))
    good = Case("nodes", "good", (), Outcome("bound"), lambda context: Outcome("bound"))
    other = Case("nodes", "other", (), Outcome("bound"), lambda context: next(actual))
    seen: list[CaseResult] = []
    context = RehearsalContext(prod_spec, EmptyPlane())
    results = {row.case.name: row for row in run_cases(context, [good, other], seen.append, repeated_max)}
    assert results["good"].passed and results["other"].passed == passed
    assert (results["other"].beside and results["other"].beside.verdict) == beside
    assert len(seen) == 2 and next(actual, None) is None
