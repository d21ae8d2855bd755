"""Every field has an effect: a change of any leaf of two example specs changes the output or the findings."""

from functools import cache
from typing import Any

import pytest

from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Artifact, Manifest
from tests.pipeline.memory import compile_tree, leaves, read_by_controllers, reasons, source
from tests.pipeline.other_values import ABSENT, OTHER, other
from tests.values import changed, without

SPECS = ("prod-use1", "vega-prod")


@cache
def unchanged(spec: str) -> tuple[dict[str, Any], set[str], list[Any]]:
    """Returns what controllers read, the annotations, and the deadlines of the example Jobs, of an example."""
    findings, artifacts = compile_tree(spec, source(spec).tree)
    assert findings == []
    return read_by_controllers(artifacts), reasons(artifacts), deadlines(artifacts)


@pytest.mark.usefixtures("without_lint")
@pytest.mark.share(32)
@pytest.mark.parametrize(
    ("spec", "path", "value"),
    [(spec, path, value) for spec in SPECS for path, value in leaves(source(spec).tree)],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, tuple) else part if part in SPECS else "",
)
def test_a_changed_leaf_shows(spec: str, path: Path, value: Any) -> None:
    tree = source(spec).tree
    tree = without(tree, path) if path[-1] in ABSENT else changed(tree, path, other(path, value))
    findings, artifacts = compile_tree(spec, tree)
    before, before_reasons, before_deadlines = unchanged(spec)
    if findings:
        is_chosen = value in OTHER or path[-1] in ABSENT
        is_possible = is_chosen or not any(finding.id.startswith("SPC") for finding in findings)
        assert is_possible, f"OTHER has nothing that may stand in the place of {value!r}"
        return
    # The number of nodes of a training runtime is in the usage of its template. Rules compare it with quotas.
    if (
        path[-1] == "why"
        or {"trains", "nodes"} <= set(path)
        or ({"annotations", "serviceAccounts"} & set(path) and "exposed" not in path)
    ):
        assert reasons(artifacts) != before_reasons
    elif path[-1] == "longest":  # the deadline of the example Jobs, which users apply
        assert deadlines(artifacts) != before_deadlines
    else:
        assert read_by_controllers(artifacts) != before, "no controller and no rule reads this"


def deadlines(artifacts: list[Artifact]) -> list[Any]:
    """Returns the deadlines of the example Jobs."""
    manifests = [artifact for artifact in artifacts if isinstance(artifact, Manifest) and artifact.kind == "Job"]
    return [manifest.body["spec"].get("activeDeadlineSeconds") for manifest in manifests]
