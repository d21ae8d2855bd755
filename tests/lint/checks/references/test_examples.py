"""The examples have no findings."""

import pytest

from gpuc.lint.checks import findings
from gpuc.objects.object_set import ObjectSet
from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_charts, example_objects, findings_of, synced_objects


@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "partial"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_finding_in_the_examples(name: str, is_complete: bool) -> None:
    """All checks of all topics."""
    for objects in (example_objects(name), synced_objects(name)):
        tree = ObjectSet(objects, is_complete=is_complete, values=example_charts(name))
        assert list(findings(tree)) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_finding_in_a_folder_of_an_example(name: str) -> None:
    objects = example_objects(name)
    folders = {manifest.file.rpartition("/")[0] for manifest in objects}
    for folder in folders:
        part = [manifest for manifest in objects if manifest.file.startswith(folder)]
        important = [
            finding for finding in findings_of(part, is_complete=False) if finding.rule.severity.value != "info"
        ]
        assert important == [], folder
