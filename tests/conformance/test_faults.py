"""The table of planted faults: each changes one place, and each scene that it names exists and would pass."""

from __future__ import annotations

from copy import deepcopy

import pytest

from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.rehearse.substitute import simulated_document
from gpuc.rehearse.suites import all_cases
from tests.conformance.breaking import Documents
from tests.conformance.fault_run import EXAMPLE
from tests.conformance.faults import FAULTS, Fault
from tests.conftest import ROOT

MOST_OBJECTS = 3
"""A fault is in one place: one object, and perhaps what it refers to."""


@pytest.fixture(scope="module")
def spec() -> CompiledSpec:
    return compiled_spec(ROOT, EXAMPLE)


@pytest.fixture(scope="module")
def whole(spec: CompiledSpec) -> Documents:
    return {(each.kind, each.namespace, each.name): simulated_document(each) for each in spec.synced}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_a_fault_changes_one_place(fault: Fault, whole: Documents) -> None:
    if fault.breaks is None:
        assert fault.settings or fault.pitfall == "ARG-001"
        return
    broken = deepcopy(whole)
    fault.breaks(broken)
    differing = {place for place in {*whole, *broken} if whole.get(place) != broken.get(place)}
    assert 0 < len(differing) <= MOST_OBJECTS


def test_the_scenes_of_the_table_exist(spec: CompiledSpec) -> None:
    scenes = list(all_cases(spec.cluster, {fault.step for fault in FAULTS if fault.scene}))
    assert [fault.what for fault in FAULTS if fault.scene and not any(map(fault.names, scenes))] == []
