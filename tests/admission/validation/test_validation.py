"""Refused and allowed objects: one small object for each check of the API server and of webhooks."""

from collections.abc import Sequence
from copy import deepcopy

import pytest

from gpuc.admission.validation import validation_errors, with_defaults
from tests.admission.validation.bases import BASES, Case
from tests.admission.validation.workload_cases import (
    POD_CASES,
    UNCHECKED,
    UNCHECKED_QUEUE,
    VOLCANO,
    WEBHOOK_CASES,
    WORKLOAD_CASES,
)
from tests.values import changed, paths


@pytest.mark.parametrize("cases", [POD_CASES, WORKLOAD_CASES, WEBHOOK_CASES, VOLCANO])
def test_refuses_the_wrong_field(cases: Sequence[Case]) -> None:
    for case in cases:
        document = case.document()
        before = deepcopy(document)
        denied = [decision for decision in validation_errors(document) if decision.outcome == "denied"]
        assert document == before, case
        expected = case.expected()
        assert denied == [] if expected is None else expected in [decision.field for decision in denied], (case, denied)
        assert all(decision.message for decision in denied), case


@pytest.mark.parametrize("case", [*UNCHECKED, *UNCHECKED_QUEUE], ids=str)
def test_reports_fields_that_it_does_not_check(case: Case) -> None:
    decisions = list(validation_errors(case.document()))
    assert case.expected() in [decision.field for decision in decisions if decision.outcome == "unknown"]


@pytest.mark.parametrize("kind", BASES)
def test_allows_the_correct_object(kind: str) -> None:
    assert list(validation_errors(BASES[kind])) == []


@pytest.mark.share(4)
@pytest.mark.parametrize("kind", BASES)
def test_any_wrong_type_is_a_refusal_and_no_exception(kind: str) -> None:
    for value in ([], "text", 5, {"a": []}, [[]], [5], None):
        for path in (("spec",), ("metadata",), ("metadata", "labels"), *paths(BASES[kind]["spec"], ("spec",))):
            document = changed(BASES[kind], path, value)
            decisions = list(validation_errors(document))
            assert all(decision.message and decision.outcome in ("denied", "unknown") for decision in decisions)
            assert with_defaults(document)["kind"] == BASES[kind]["kind"]
            if path == ("spec",) and not isinstance(value, dict | None):
                assert any(decision.outcome == "denied" for decision in decisions), value
