"""What the server made of an object: changes and losses anywhere, defaults only inside lists."""

from __future__ import annotations

import pytest

from gpuc.rehearse.client import Object
from gpuc.rehearse.read_back import differences


@pytest.mark.parametrize(
    ("written", "stored", "found"),
    [
        ({"spec": {"cpu": "1000m"}}, {"spec": {"cpu": "1"}}, "spec.cpu was written as '1000m' and is '1'"),
        ({"spec": {"typo": 1}}, {"spec": {}}, "spec.typo was written as 1 and is gone"),
        ({"spec": {"a": [{"b": 1}]}}, {"spec": {"a": [{"b": 1, "c": 2}]}}, "spec.a[0].c is 2 by default"),
        ({"spec": {"a": [1, 2]}}, {"spec": {"a": [2, 1]}}, "spec.a[0] was written as 1 and is 2"),
        ({"spec": {"a": [1]}}, {"spec": {"a": [1, 2]}}, "spec.a was written as [1] and is [1, 2]"),
    ],
)
def test_differences_are_named(written: Object, stored: Object, found: str) -> None:
    assert found in [str(each) for each in differences(written, stored)]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ({"spec": {"a": 1}}, {"spec": {"a": 1, "policy": "None"}, "status": {}}),
        ({"spec": {"selector": {}}}, {"spec": {}}),
        ({"spec": {"a": [{"b": {"c": "1"}}]}}, {"spec": {"a": [{"b": {"c": "1"}}]}}),
    ],
)
def test_defaults_beside_what_was_written_are_none(written: Object, stored: Object) -> None:
    assert differences(written, stored) == []
