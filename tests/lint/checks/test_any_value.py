"""All checks of lint accept the reported inputs with any value at any path."""

from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.lint.checks import findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet
from tests.lanes import ci_share
from tests.lint.checks.sound import unsound
from tests.lint.checks.test_strange_values import STRANGE
from tests.values import changed, paths

INPUTS = sorted((Path(__file__).parents[1] / "reported").glob("*.yaml"))


def manifest(document: Any) -> Manifest:
    """The object of a document. Only the values outside of metadata are strange."""
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
    meta = document["metadata"]
    names = {"namespace": meta.get("namespace", ""), "labels": meta.get("labels", {})}
    return Manifest("a.yaml", (0,), document["apiVersion"], document["kind"], meta["name"], body, **names)


@pytest.mark.slow
@pytest.mark.parametrize("file", INPUTS, ids=lambda file: file.stem)
def test_every_check_accepts_any_value_at_any_path(file: Path) -> None:
    documents = [document for document in yaml.safe_load_all(file.read_text(encoding="utf-8")) if document]
    objects, values = [manifest(document) for document in documents], cycle(STRANGE)
    for index, document in enumerate(documents):
        body = {key: document[key] for key in document.keys() - {"apiVersion", "kind", "metadata"}}
        for path in ci_share(list(paths(body)), 5):
            broken = [*objects]
            broken[index] = manifest({**document, **changed(body, path, next(values))})
            assert unsound(findings(ObjectSet(broken, is_complete=False)), broken) == []
