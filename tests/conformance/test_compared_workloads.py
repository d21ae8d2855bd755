"""Random workloads are reproducible and varied; the report counts the answers that differ."""

import json
from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest

from gpuc_rehearsal.client import Object
from tests.conformance.compared_report import (
    AGREED,
    NOT_JUDGED,
    WRONG_NO,
    WRONG_YES,
    Comparison,
    Row,
    markdown,
)
from tests.conformance.compared_workloads import WITH_RAY, cluster_index, trace_answer, with_ray
from tests.conformance.random_workloads import MODES, random_workloads
from tests.conformance.real_answers import Answer, expected_pods, refusal
from tests.conformance.workload_mutations import MUTATIONS
from tests.conformance.workload_shares import MOST, USED, Shares, has_own_pool, rounds
from tests.conftest import EXAMPLES, compiled_example, example
from tests.values import walk

COUNT = 420
QUOTA = 'pods "w1" is forbidden: exceeded quota: gpuc, requested: requests.cpu=1, used: requests.cpu={}, limited: 5'


@pytest.mark.share(3)
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_same_seed_gives_the_same_workloads(name: str) -> None:
    first, again, other = (
        [workload.document for workload in random_workloads(example(name), COUNT, seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_workload_does_not_depend_on_the_number_of_workloads() -> None:
    few = list(random_workloads(example("prod-use1"), 50, 1))
    assert few == list(random_workloads(example("prod-use1"), COUNT, 1))[:50]


def test_half_of_the_workloads_have_a_mutation_and_all_mutations_are_used() -> None:
    used: Counter[str] = Counter()
    for name in EXAMPLES:
        workloads = list(random_workloads(example(name), COUNT, 1))
        assert sum(not workload.mutation for workload in workloads) == COUNT / 2
        used.update(workload.mutation for workload in workloads)
    assert set(used) - {""} == set(MUTATIONS)
    assert len(MUTATIONS) > 150


def test_correct_workloads_vary_in_kind_target_and_fields() -> None:
    workloads = [workload for workload in random_workloads(example("prod-use1"), COUNT, 1) if not workload.mutation]
    kinds = Counter(workload.kind for workload in workloads)
    assert set(kinds) == {"Pod", "Job", "CronJob", "JobSet", "Deployment", "StatefulSet", "RayJob"}
    assert min(kinds.values()) > 10
    assert len({(workload.target.namespace.name, workload.target.pool.name) for workload in workloads}) > 12
    assert len({json.dumps(without_names(workload.document)) for workload in workloads}) > 0.98 * len(workloads)
    leaves = {
        tuple(step for step in path if isinstance(step, str))
        for workload in workloads
        for path, value in walk(workload.document)
        if not isinstance(value, dict | list)
    }
    assert len(leaves) > 150


def test_a_cluster_with_ray_has_ray_jobs_with_a_group_of_workers() -> None:
    workloads = [row for row in random_workloads(with_ray(WITH_RAY).cluster, 120, 1) if row.kind == "RayJob"]
    assert len(workloads) > 12
    assert {row.document["spec"].get("submissionMode") for row in workloads} == set(MODES)
    assert any(row.mutation for row in workloads)
    for workload in workloads:
        has_submitter = workload.document["spec"].get("submissionMode") in MODES[:2]
        if not workload.mutation:
            assert expected_pods(workload.document, ()) == workload.pods + has_submitter


def without_names(document: Object) -> Object:
    return {**document, "metadata": {}}


def test_workloads_at_the_same_time_do_not_use_up_a_pool() -> None:
    workloads = list(random_workloads(example("prod-use1"), 200, 1))
    shares = Shares()
    running = [workload for workload in workloads if shares.add(workload)]
    assert 10 < len(running) <= MOST
    for name in {workload.target.pool.name for workload in running}:
        of_pool = [workload for workload in running if workload.target.pool.name == name]
        assert sum(row.nodes for row in of_pool) <= USED * of_pool[0].target.pool.nodes_max or len(of_pool) == 1
    for workload in running:
        shares.remove(workload)
    assert shares == Shares()


def test_a_workload_with_rules_between_its_pods_shares_no_pool() -> None:
    workloads = list(random_workloads(example("prod-use1"), 60, 1, only="rules: "))
    shares = Shares()
    pools = Counter(workload.target.pool.name for workload in workloads if shares.add(workload))
    assert all(map(has_own_pool, workloads))
    assert set(pools.values()) == {1}


def test_workloads_that_run_alone_share_no_cohort_and_no_pool() -> None:
    workloads = list(random_workloads(example("prod-use1"), 60, 1))
    planned = rounds(workloads)
    assert sorted(workload.number for part in planned for workload in part) == list(range(60))
    for part in planned:
        assert sum(bool(workload.target.queue) for workload in part) <= 1
        pools = Counter(workload.target.pool.name for workload in part if not workload.target.queue)
        assert not pools or max(pools.values()) == 1


@pytest.mark.parametrize(
    ("message", "by"),
    [
        ('pods "a" is forbidden: violates PodSecurity "baseline:v1.35": privileged', "Pod Security"),
        ("ValidatingAdmissionPolicy 'gatekeeper-gpucimages' with binding 'x' denied request: images", "policy"),
        (QUOTA.format("4"), "quota"),
        ('Job.batch "a" is invalid: spec.template: Required value', "API server"),
        ('admission webhook "vjob.kb.io" denied the request: kueue.x-k8s.io/queue-name: Invalid value', "Kueue"),
    ],
)
def test_the_component_of_a_refusal_is_recognized(message: str, by: str) -> None:
    assert refusal(message).by == by


def contended(answer: Answer, *, has_static_nodes: bool = False, has_own_pool: bool = False) -> bool:
    return answer.is_contended(has_static_nodes=has_static_nodes, has_own_pool=has_own_pool)


def test_only_a_shortage_by_other_workloads_is_contended() -> None:
    assert contended(refusal(QUOTA.format("4")))
    assert not contended(refusal(QUOTA.format("0")))
    kueue = "couldn't assign flavors to pod set main: insufficient {} for cpu in flavor general"
    assert contended(Answer("no", "Kueue", kueue.format("unused quota")))
    assert not contended(Answer("no", "Kueue", kueue.format("quota")))
    nodes = Answer(
        "no",
        "nodes",
        "Failed to schedule pod, x; the scheduler: 0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3",
    )
    assert contended(nodes, has_static_nodes=True)
    assert not contended(nodes)
    assert not contended(nodes, has_static_nodes=True, has_own_pool=True)
    assert contended(Answer("no", "Kueue", kueue.format("unused quota")), has_own_pool=True)
    assert contended(Answer("none"))
    assert not contended(Answer("yes"))


def row(traced: str, real: str, number: int = 0, by: tuple[str, str] = ("", "")) -> Row:
    workload = replace(next(random_workloads(example("prod-use1"), 1, 1)), number=number)
    return Row(workload, Answer(real, by[1], "real | reason"), Answer(traced, by[0], "trace"))  # type: ignore[arg-type]


def test_answers_are_classified() -> None:
    assert row("yes", "yes").outcome == row("no", "no").outcome == AGREED
    assert row("yes", "no").outcome == WRONG_YES
    assert row("no", "yes").outcome == WRONG_NO
    assert row("not judged", "yes").outcome == row("none", "no").outcome == NOT_JUDGED
    assert row("no", "no", by=("Kueue", "Kueue")).same_component
    assert not row("no", "no", by=("Kueue", "policy")).same_component


def test_one_wrong_yes_is_a_problem_and_few_explained_answers_are_not() -> None:
    good = [row("yes", "yes", number) for number in range(100)]
    assert Comparison(good, 1).problems() == []
    (first, *examples) = Comparison([*good, row("yes", "no", 100)], 1).problems()
    assert first == "1 wrong yes; none is allowed"
    assert "real: no real | reason" in examples[0]
    too_many = Comparison([*good, *(row("not judged", "yes", 100 + number) for number in range(6))], 1).problems()
    assert too_many[0] == "6 of 106 not judged; at most 5% are allowed"
    assert too_many[1] == "6 wrong no or not judged without an explanation"


def test_words_of_the_message_explain_an_answer() -> None:
    traced = Answer("not judged", "", "the input does not show how many nodes are in one domain of a")
    known = replace(row("not judged", "yes"), traced=traced)
    assert Comparison([*(row("yes", "yes", number) for number in range(1, 100)), known], 1).problems() == []


def test_the_report_has_a_table_by_mutation_and_every_disagreement() -> None:
    rows = [row("yes", "yes"), row("yes", "no", 1, ("", "policy")), row("no", "yes", 2, ("Kueue", ""))]
    text = markdown(Comparison(rows, 60))
    assert "| (no mutation) | 3 | 2 | 1 | 0 of 1 | 1 | 1 | 0 |" in text
    assert "## wrong yes: 1" in text
    assert "real: no by policy: real | reason" in text
    assert '"kind": ' in text


@pytest.mark.slow
def test_the_trace_answers_for_a_document() -> None:
    spec = compiled_example("prod-use1")
    index = cluster_index(spec)
    workloads = [workload for workload in random_workloads(spec.cluster, 80, 1) if workload.kind == "Job"]
    answers = Counter(trace_answer(index, workload.document).verdict for workload in workloads)
    assert answers["yes"] > 0
    assert "none" not in answers
    unqueued = deepcopy(next(workload for workload in workloads if not workload.mutation).document)
    del unqueued["metadata"]["labels"]
    assert trace_answer(index, unqueued).verdict == "no"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    assert trace_answer(index, secret).verdict == "not judged"
