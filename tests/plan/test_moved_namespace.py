"""What happens to waiting workloads when their namespace moves to another tenant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.cases import HEAD, Case, impacts_of

BEFORE = (
    HEAD
    + """
extends: [training.yaml]
spec:
  tenants: {red: {namespaces: {lab: {podSecurity: baseline}}}}
  pools: {batch: {nodes: {max: 5}}}
  queues: {lab: {tenants: [red], quota: {batch: {nodes: 1}}}}
"""
)
AFTER = (
    HEAD
    + """
extends: [training.yaml]
spec:
  tenants: {blue: {namespaces: {lab: {podSecurity: baseline}}}}
  pools: {batch: {nodes: {max: 5}}}
  queues: {lab: {tenants: [TENANT], quota: {batch: {nodes: 1}}}}
"""
)


@pytest.mark.parametrize(
    ("tenant", "waiting"),
    [
        ("red", "; workloads that wait in queues lab, red, red-cpu of the old tenant are not admitted"),
        ("blue", "; workloads that wait in queues red, red-cpu of the old tenant are not admitted"),
        ("red, blue", "; workloads that wait in queues red, red-cpu of the old tenant are not admitted"),
    ],
)
def test_workloads_of_queues_that_stay_with_the_old_tenant_are_not_admitted(
    tenant: str, waiting: str, tmp_path: Path
) -> None:
    impacts = impacts_of(tmp_path, Case("moved", BEFORE, AFTER.replace("TENANT", tenant)))
    (moved,) = (impact for impact in impacts if impact.id == "IMP255")
    assert moved.details[0] == f"workloads that run continue{waiting}"
