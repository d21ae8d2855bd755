"""The report says whether quotas count all pods of tenants on nodes without GPUs."""

import pytest

from gpuc.isolation.assumptions import Basis, assumptions
from tests.isolation.cases import complete, synced
from tests.isolation.test_cases import reachability_of

CLAIM = "quotas count the pods of tenants on nodes without GPUs"


@pytest.mark.parametrize(("left_out", "basis"), [("", Basis.CHECKED), ("GpucGpuQuota", Basis.ASSUMED)])
def test_pods_that_no_constraint_refuses_are_named(left_out: str, basis: Basis) -> None:
    objects = complete([manifest for manifest in synced("vega-prod") if manifest.kind != left_out])
    (found,) = (row for row in assumptions(objects, reachability_of(objects)) if row.claim == CLAIM)
    assert (found.basis, "DaemonSets" in found.reason) == (basis, True)
    assert ("are not counted" in found.reason) == (basis is Basis.ASSUMED)
