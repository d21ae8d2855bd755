"""Every row of the table of references: no finding with its target, and a finding if the target has another name."""

from typing import Any

import pytest

from gpuc.diagnostics.finding import Severity
from gpuc.manifest.manifest import Kind, Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.objects.paths import EVERY_ITEM, pattern
from gpuc.objects.symbol_table import CLUSTER_SCOPED, NAMED_BY, kind_of
from gpuc.verify.references.names import REFERENCES
from gpuc.verify.references.reference import ANY, NOT_IN_THESE_FILES, POD, TYPED, Confidence, Reference, confidence_of
from tests.lint.checks.references.trees import findings

MEANT = {
    "spec.parameters": "kueue.x-k8s.io/ProvisioningRequestConfig",
    "spec.template.spec.nodeClassRef": "karpenter.k8s.aws/EC2NodeClass",
    "roleRef": "rbac.authorization.k8s.io/ClusterRole",
    "spec.scaleTargetRef": "apps/Deployment",
    "spec.targetRef": "apps/StatefulSet",
    "spec.runtimeRef": "trainer.kubeflow.org/ClusterTrainingRuntime",
}
"""A kind for every reference that names the kind of its target."""
NAME, MISSPELT, OTHER = "exemplar", "exempler", "something-else"
ROWS = pytest.mark.parametrize("row", REFERENCES, ids=lambda row: f"{row.source} {row.path} {row.target}")


def target_of(row: Reference) -> Kind:
    return kind_of(MEANT[row.path] if row.target == TYPED else row.target)


def written(steps: tuple[str, ...], leaf: Any, beside: dict[str, Any]) -> Any:
    """A document with a value at a pattern, and further keys beside the innermost key."""
    if not steps:
        return leaf
    step, rest = steps[0], steps[1:]
    inner = written(rest, leaf, beside)
    if step == EVERY_ITEM:
        return [inner]
    innermost = not [step for step in rest if step != EVERY_ITEM]
    return {**(beside if innermost else {}), step: inner}


def source_of(row: Reference, name: str) -> Manifest:
    """An object with the reference of a row to a name."""
    leaf: Any = name
    if row.target == TYPED:
        group, kind = target_of(row)
        version = {"apiVersion": f"{group}/v1"} if "argetRef" in row.path else {"apiGroup": group}
        leaf = {**version, "kind": kind, "name": name}
    beside = {row.when[0]: row.when[1]} if row.when[0] else {}
    beside |= {row.namespace: "research"} if row.namespace == "namespace" else {}
    body = written(pattern(row.path), leaf, beside)
    labels = body.pop("metadata", {}).get("labels", {}) if isinstance(body, dict) else {}
    group, kind = kind_of({ANY: "batch/Job", POD: "Pod"}.get(row.source, row.source))
    if row.path == "kind":
        kind, body = name, {}
    namespace = "" if kind_of(f"{group}/{kind}") in CLUSTER_SCOPED else "research"
    if row.source == POD and "metadata" in row.path:
        kind, group, body, labels = "Job", "batch", {"spec": {"template": {"metadata": {"labels": labels}}}}, {}
    return Manifest("a.yaml", (), f"{group}/v1" if group else "v1", kind, "source", body, namespace, labels)


def offer(kind: Kind, name: str) -> Manifest:
    """An object that a reference can have as its target."""
    group, word = kind
    body: dict[str, Any] = {}
    if where := NAMED_BY.get(f"{group}/{word}"):
        body, name = written(pattern(where), name, {}), "named-otherwise"
    namespace = "" if kind in CLUSTER_SCOPED else "research"
    return Manifest("b.yaml", (), f"{group}/v1" if group else "v1", word, name, body, namespace)


def of_row(row: Reference, name: str, *others: str, is_complete: bool) -> list[Any]:
    """Findings of one reference to a name: of the row's rule, or of the rule for partial input."""
    manifests = [source_of(row, name), *(offer(target_of(row), other) for other in others)]
    found = findings(ObjectSet(manifests, is_complete=is_complete))
    return [
        finding
        for finding in found
        if finding.rule in (REFERENCES[row], NOT_IN_THESE_FILES) and finding.manifest.name == "source"
    ]


@ROWS
def test_no_finding_if_the_target_exists(row: Reference) -> None:
    for is_complete in (True, False):
        assert [
            finding for finding in of_row(row, NAME, NAME, is_complete=is_complete) if NAME in finding.message
        ] == []


@ROWS
def test_a_misspelt_name_is_reported_with_its_fix(row: Reference) -> None:
    for is_complete in (True, False):
        (finding,) = [
            finding for finding in of_row(row, MISSPELT, NAME, is_complete=is_complete) if MISSPELT in finding.message
        ]
        assert finding.fix == f"write {NAME}"
        sure = is_complete or confidence_of(target_of(row)) is Confidence.CERTAIN
        assert finding.rule is (REFERENCES[row] if sure else NOT_IN_THESE_FILES)


@ROWS
def test_another_name_is_reported_by_its_certainty(row: Reference) -> None:
    (finding,) = [finding for finding in of_row(row, OTHER, NAME, is_complete=True) if OTHER in finding.message]
    assert finding.rule is REFERENCES[row]
    assert finding.fix == ""
    part = [finding for finding in of_row(row, OTHER, NAME, is_complete=False) if OTHER in finding.message]
    wanted = {
        Confidence.CERTAIN: [REFERENCES[row]],
        Confidence.LIKELY: [NOT_IN_THESE_FILES],
        Confidence.ONLY_IF_MISSPELLED: [],
    }
    assert [finding.rule for finding in part] == wanted[confidence_of(target_of(row))]


@ROWS
def test_no_finding_in_partial_input_without_objects_of_the_kind(row: Reference) -> None:
    assert [finding for finding in of_row(row, OTHER, is_complete=False) if OTHER in finding.message] == []
    assert [finding for finding in of_row(row, OTHER, is_complete=True) if OTHER in finding.message] != []


def test_every_missing_target_is_an_error() -> None:
    assert {rule.severity for rule in REFERENCES.values()} == {Severity.ERROR}
