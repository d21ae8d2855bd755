"""The schedule of test cases."""

import pytest

from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.expectation import Quota, cluster_queues, expect
from gpuc_rehearsal.runner import schedule
from gpuc_rehearsal.suites import all_cases

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
