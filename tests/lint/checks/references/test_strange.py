"""Whatever stands in an object, the judge reads it without a fall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from tests.conftest import EXAMPLES
from tests.lint.checks.references.test_names import REFERENCES, offer, source_of, target_of
from tests.lint.checks.references.trees import example_objects, judged, replaced, with_value
from tests.lint.checks.sound import unsound

STRANGE: tuple[Any, ...] = (
    None,
    True,
    7,
    0.5,
    "",
    "x y",
    [],
    [None],
    [["a"]],
    {},
    {"a": {}},
    [{"name": [1], "key": {}}],
)


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """The path of every value in a body."""
    if at:
        yield at
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths(each, (*at, key))


def few(name: str) -> list[Manifest]:
    """One object of every kind of an example, and those that the table of names knows beside them."""
    by_kind = {each.kind: each for each in example_objects(name)}
    for row in REFERENCES:
        for each in (source_of(row, "some-name"), offer(target_of(row), "some-name")):
            by_kind.setdefault(each.kind, each)
    return list(by_kind.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_any_value_may_stand_anywhere(name: str) -> None:
    objects = few(name)
    values = cycle(STRANGE)
    for each in objects:
        for number, path in enumerate(paths(each.body)):
            if number < 250:
                tree = replaced(objects, each, with_value(each, path, next(values)))
                assert unsound(judged(tree, whole=bool(number % 2)), tree) == []


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_any_value_may_be_a_label_or_a_whole_spec(value: Any) -> None:
    objects = few("prod-use1")
    labels = {"kueue.x-k8s.io/queue-name": value, "gpuc.dev/tenant": value}
    labelled = [replace(each, labels=labels, annotations={"a": value}) for each in objects]
    filled = [replace(each, body={"spec": value, "data": value, "roleRef": value}) for each in objects]
    empty = [replace(each, body={}) for each in objects]
    for tree, whole in ((labelled, True), (filled, True), (empty, False)):
        assert unsound(judged(tree, whole=whole), tree) == []
