"""Differences between written and stored objects: changes and dropped fields, and defaults inside lists."""

from __future__ import annotations

import pytest

from gpuc_rehearsal.apply import differences
from gpuc_rehearsal.client import Object


@pytest.mark.parametrize(
    ("written", "stored", "text"),
    [
        ({"spec": {"cpu": "1000m"}}, {"spec": {"cpu": "1"}}, "spec.cpu was written as '1000m' and is '1'"),
        ({"spec": {"typo": 1}}, {"spec": {}}, "spec.typo was written as 1 and is missing in the stored object"),
        (
            {"spec": {"a": [{"b": 1}]}},
            {"spec": {"a": [{"b": 1, "c": 2}]}},
            "spec.a[0].c was not written and is 2 by default",
        ),
        ({"spec": {"a": [1, 2]}}, {"spec": {"a": [2, 1]}}, "spec.a[0] was written as 1 and is 2"),
        ({"spec": {"a": [1]}}, {"spec": {"a": [1, 2]}}, "spec.a was written as [1] and is [1, 2]"),
    ],
)
def test_differences_have_a_path_and_both_values(written: Object, stored: Object, text: str) -> None:
    assert text in [str(difference) for difference in differences(written, stored)]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1, "policy": "None"}, "status": {}}),
        ({"spec": {"selector": {}}}, {"spec": {}}),
        ({"spec": {"a": [{"b": {"c": "1"}}]}}, {"spec": {"a": [{"b": {"c": "1"}}]}}),
    ],
)
def test_defaults_outside_lists_are_no_differences(written: Object, stored: Object) -> None:
    assert differences(written, stored) == []
