"""Mutations of the example clusters: each is detected by a check, or is a row of the table with the reason."""

import pytest

from tests.conftest import EXAMPLES, ROOT
from tests.lanes import ci_share
from tests.lint.mutations.table import chosen_mutations, findings, is_detected, spec, undetected


@pytest.mark.slow
@pytest.mark.parametrize("cluster", EXAMPLES)
def test_a_mutation_is_detected_unless_the_table_names_it(cluster: str) -> None:
    assert list(findings(spec(cluster).objects, cluster)) == []
    chosen = {str(mutation): mutation for mutation in chosen_mutations(cluster)}
    rows = {mutation for mutation in undetected() if mutation.startswith(f"{cluster} ")}
    assert rows - chosen.keys() == set(), "remove these rows of undetected.yaml: the mutation does not exist"
    tested = ci_share(list(chosen), 3)
    missed = {mutation for mutation in tested if not is_detected(chosen[mutation])}
    assert missed - rows == set(), "no check detects these: add a check, or a row with the reason to undetected.yaml"
    assert rows.intersection(tested) - missed == set(), "remove these rows of undetected.yaml: they are detected"


def test_rows_have_a_reason_and_the_tests_that_they_name_exist() -> None:
    for row in undetected().values():
        assert row.mutation.partition(" ")[0] in EXAMPLES, row
        assert row.reason.endswith("."), row
        assert (ROOT / row.covered_by).exists(), row
