"""The differential's questions: the same for the same seed, of every kind, and kept cases can be read."""

from __future__ import annotations

from collections import Counter

from gpuc.rehearse.expectation import expect
from tests.conformance.differential import Case, kept_cases, random_cases
from tests.conformance.lane import compiled

SEED = 7


def test_the_same_seed_asks_the_same() -> None:
    assert random_cases(2, 5, SEED) == random_cases(2, 5, SEED)
    assert random_cases(2, 5, SEED) != random_cases(2, 5, SEED + 1)


def test_every_kind_of_answer_is_expected() -> None:
    met: Counter[str] = Counter()
    for case in random_cases(12, 12, SEED):
        met.update(answers(case))
    kinds = ("admitted", "pending by Karpenter", "refused: insufficient", "refused: resource", "refused: flavor")
    assert min(met[kind] for kind in kinds) > 0, met
    assert met["admitted"] < sum(met.values()) * 2 / 3, met


def answers(case: Case) -> list[str]:
    cluster = compiled(case.tree).cluster
    queues = {part.name: part for queue in cluster.queues for part in queue.cluster_queues}
    expected = [expect(cluster, queues[name], request) for name, request in case.work]
    return [
        f"refused: {each.message.partition(' ')[0]}"
        if each.by == "Kueue"
        else f"{each.verdict} by {each.by}".removesuffix(" by ")
        for each in expected
    ]


def test_a_case_survives_being_kept(tmp_path) -> None:
    (case,) = random_cases(1, 6, SEED)
    (tmp_path / f"{case.name}.json").write_text(case.text(), encoding="utf-8")
    assert kept_cases(tmp_path) == [case]


def test_kept_cases_have_expectations() -> None:
    for case in kept_cases():
        assert len(answers(case)) == len(case.work) > 0
