"""Mutations of the example clusters: each is detected by a check, or is a row of the table with the reason."""

import pytest

from tests.conftest import EXAMPLES, ROOT
from tests.lint.mutations.table import chosen_mutations, findings, is_detected, spec, undetected


@pytest.mark.slow
@pytest.mark.parametrize("cluster", EXAMPLES)
def test_a_mutation_is_detected_unless_the_table_names_it(cluster: str) -> None:
    assert list(findings(spec(cluster).objects, cluster)) == []
    rows = {mutation for mutation in undetected() if mutation.startswith(f"{cluster} ")}
    missed = {str(mutation) for mutation in chosen_mutations(cluster) if not is_detected(mutation)}
    assert missed - rows == set(), "no check detects these: add a check, or a row with the reason to undetected.yaml"
    assert rows - missed == set(), "remove these rows of undetected.yaml: the mutation is detected, or does not exist"


def test_rows_have_a_reason_and_the_tests_that_they_name_exist() -> None:
    for row in undetected().values():
        assert row.mutation.partition(" ")[0] in EXAMPLES, row
        assert row.reason.endswith("."), row
        assert (ROOT / row.covered_by).exists(), row
