"""Generated breaks of every example cluster: each is reported, or stands in the table of what no judge can see."""

from __future__ import annotations

from collections import Counter

import pytest

from gpuc.pipeline.stages import compiled_spec
from tests.conftest import EXAMPLES, ROOT
from tests.lint.mutations.unseen import chosen_breaks, flaws, unseen, why_unseen


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_break_is_reported_or_known(name: str) -> None:
    spec = compiled_spec(ROOT, f"specs/{name}.yaml")
    assert flaws(spec.objects, spec) == []
    chosen = chosen_breaks(spec)
    missed = unseen(chosen, spec)
    made = Counter(each.category for each in chosen)
    told = made - Counter(each.category for each in missed)
    kinds = len({each.manifest.kind for each in chosen})
    caught = len(chosen) - len(missed)
    print(f"{name}: {len(chosen)} breaks of {kinds} kinds, {caught} reported: {dict(told)} of {dict(made)}")
    assert len(chosen) >= 100
    assert [str(each) for each in missed if not why_unseen(each)] == []
