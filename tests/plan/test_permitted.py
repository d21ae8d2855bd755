"""Objects that Argo CD does not delete because their AppProject does not permit them any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.plan.change import Change
from gpuc.plan.pruning import NOT_PERMITTED, removed_objects
from gpuc.plan.state import state_after
from tests.plan.cases import HEAD, compiled

SPEC = f"{HEAD}extends: [training.yaml]\n"
OBJECT = "apiVersion: v1\nkind: {}\nmetadata: {{name: {}, namespace: monitoring}}\n"
SETTINGS, OTHER = (OBJECT.format("ConfigMap", name) for name in ("settings", "other"))
ACCOUNT = OBJECT.format("ServiceAccount", "reader")


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("removed", "kept", "fate", "is_certain"),
    [(ACCOUNT, SETTINGS, "left", False), (OTHER, SETTINGS, "pruned", True)],
)
def test_the_last_object_of_a_kind_may_stay(
    tmp_path: Path, removed: str, kept: str, fate: str, is_certain: bool
) -> None:
    before = compiled(tmp_path / "before", SPEC, {"0.yaml": kept, "1.yaml": removed})
    after = compiled(tmp_path / "after", SPEC, {"0.yaml": kept})
    (found,) = removed_objects(Change(state_after(before), state_after(after)))
    assert (found.fate, found.is_certain) == (fate, is_certain)
    assert found.reason == ("" if is_certain else NOT_PERMITTED)
