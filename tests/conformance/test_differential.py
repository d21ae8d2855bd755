"""Random cases are reproducible and cover all expected outcomes; kept cases can be read."""

from collections import Counter
from pathlib import Path

import pytest

from gpuc_rehearsal.expectation import expect
from tests.conformance.differential import Case, kept_cases, random_cases
from tests.conformance.shared_plane import compiled

SEED = 7


@pytest.mark.slow
def test_the_same_seed_gives_the_same_cases() -> None:
    assert random_cases(2, 5, SEED) == random_cases(2, 5, SEED)
    assert random_cases(2, 5, SEED) != random_cases(2, 5, SEED + 1)


@pytest.mark.slow
def test_random_cases_cover_all_outcomes() -> None:
    counts: Counter[str] = Counter()
    for case in random_cases(8, 12, SEED):
        counts.update(outcomes(case))
    kinds = ("admitted", "pending by Karpenter", "refused: insufficient", "refused: resource", "refused: flavor")
    assert min(counts[kind] for kind in kinds) > 0, counts
    assert counts["admitted"] < sum(counts.values()) * 2 / 3, counts


def outcomes(case: Case) -> list[str]:
    spec = compiled(case.tree)
    queues = {part.name: part for queue in spec.cluster.queues for part in queue.cluster_queues}
    expected = [expect(spec, queues[name], request) for name, request in case.work]
    return [
        f"refused: {outcome.message.partition(' ')[0]}"
        if outcome.by == "Kueue"
        else f"{outcome.verdict} by {outcome.by}".removesuffix(" by ")
        for outcome in expected
    ]


def test_a_written_case_can_be_read(tmp_path: Path) -> None:
    (case,) = random_cases(1, 6, SEED)
    (tmp_path / f"{case.name}.json").write_text(case.text(), encoding="utf-8")
    assert kept_cases(tmp_path) == [case]


def test_kept_cases_have_expected_outcomes() -> None:
    for case in kept_cases():
        assert len(outcomes(case)) == len(case.work) > 0
