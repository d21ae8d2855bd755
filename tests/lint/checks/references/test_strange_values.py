"""The checks of references accept objects with any value at any path."""

from itertools import cycle
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.manifest.manifest import Manifest
from tests.conftest import EXAMPLES
from tests.lanes import ci_share
from tests.lint.checks.references.test_names import REFERENCES, offer, source_of, target_of
from tests.lint.checks.references.trees import example_objects, findings_of, replaced, with_value
from tests.lint.checks.sound import unsound
from tests.lint.checks.test_strange_values import STRANGE
from tests.values import paths


def few(name: str) -> list[Manifest]:
    """One object of every kind in an example, and of every other kind in the table of references."""
    by_kind = {manifest.kind: manifest for manifest in example_objects(name)}
    for row in REFERENCES:
        for manifest in (source_of(row, "some-name"), offer(target_of(row), "some-name")):
            by_kind.setdefault(manifest.kind, manifest)
    return list(by_kind.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_any_value_is_accepted_at_any_path(name: str) -> None:
    objects = few(name)
    values = cycle(STRANGE)
    for manifest in objects:
        for number, path in enumerate(ci_share(list(paths(manifest.body))[:120], 3)):
            tree = replaced(objects, manifest, with_value(manifest, path, next(values)))
            assert unsound(findings_of(tree, is_complete=bool(number % 2)), tree) == []


@pytest.mark.share(4)
@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_any_value_is_accepted_as_label_or_spec(value: Any) -> None:
    objects = few("prod-use1")
    labels = {"kueue.x-k8s.io/queue-name": value, "gpuc.dev/tenant": value}
    labelled = [replace(manifest, labels=labels, annotations={"a": value}) for manifest in objects]
    filled = [replace(manifest, body={"spec": value, "data": value, "roleRef": value}) for manifest in objects]
    empty = [replace(manifest, body={}) for manifest in objects]
    for tree, is_complete in ((labelled, True), (filled, True), (empty, False)):
        assert unsound(findings_of(tree, is_complete=is_complete), tree) == []
