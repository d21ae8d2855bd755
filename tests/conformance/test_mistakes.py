"""The table of mistakes: every edit changes few objects, and the test cases that must fail exist."""

from copy import deepcopy

import pytest

from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.substitute import simulated_document
from gpuc_rehearsal.suites import all_cases
from tests.conformance.mistakes import MISTAKES, QUICK, Mistake
from tests.conformance.object_edits import Documents
from tests.conftest import compiled_example

MAX_OBJECTS = 3
"""A mistake concerns one object, and perhaps objects that refer to it."""


@pytest.fixture(scope="module")
def spec() -> CompiledSpec:
    return compiled_example("prod-use1")


@pytest.fixture(scope="module")
def original(spec: CompiledSpec) -> Documents:
    return {
        (manifest.kind, manifest.namespace, manifest.name): simulated_document(manifest) for manifest in spec.synced
    }


@pytest.mark.share(3)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.title)
def test_a_mistake_changes_few_objects(mistake: Mistake, original: Documents) -> None:
    if mistake.edit is None:
        assert mistake.settings or mistake.pitfall == "ARG-001"
        return
    edited = deepcopy(original)
    mistake.edit(edited)
    different = {key for key in {*original, *edited} if original.get(key) != edited.get(key)}
    assert 0 < len(different) <= MAX_OBJECTS


@pytest.mark.parametrize("kind", ["step", "component"])
def test_ci_makes_a_mistake_of_each_kind(kind: str) -> None:
    assert {getattr(mistake, kind) for mistake in QUICK} == {getattr(mistake, kind) for mistake in MISTAKES}


@pytest.mark.slow
def test_the_test_cases_of_the_mistakes_exist(spec: CompiledSpec) -> None:
    cases = list(all_cases(spec, {mistake.step for mistake in MISTAKES if mistake.case}))
    without = [mistake.title for mistake in MISTAKES if mistake.case and not any(map(mistake.must_fail, cases))]
    assert without == []
