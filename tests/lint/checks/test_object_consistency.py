"""Contradictions within one object."""

import pytest
import yaml

from gpuc.diagnostics.place import place
from gpuc.lint.checks.consistency.object_consistency import findings
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet

GOOD = """
replicas: 1
selector: {matchLabels: {app: a}}
template:
  metadata: {labels: {app: a, tier: b}}
  spec:
    volumes: [{name: data, emptyDir: {}}]
    initContainers: [{name: copy, image: x, volumeMounts: [{name: data, mountPath: /d}]}]
    containers: [{name: main, image: x, volumeMounts: [{name: data, mountPath: /d}]}]
"""
POD = "spec.template.spec"


def reported(text: str, kind: str = "Deployment", api: str = "apps/v1") -> list[tuple[str, str]]:
    manifest = Manifest("a.yaml", (), api, kind, "a", {"spec": yaml.safe_load(text)})
    return [(finding.rule.id, place(finding.path)) for finding in findings(ObjectSet([manifest], is_complete=False))]


def test_no_finding_in_a_correct_workload() -> None:
    assert reported(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "rule_id", "where"),
    [
        ("{labels: {app: a,", "{labels: {app: b,", "OBJ001", "spec.template.metadata.labels.app"),
        ("{labels: {app: a, tier: b}}", "{}", "OBJ001", "spec.template.metadata.labels"),
        ("[{name: data, empty", "[{name: date, empty", "OBJ002", f"{POD}.initContainers[0].volumeMounts[0].name"),
        ("[{name: copy,", "[{name: main,", "OBJ003", f"{POD}.containers"),
    ],
)  # fmt: skip
def test_contradictions_are_reported(old: str, new: str, rule_id: str, where: str) -> None:
    assert (rule_id, where) in reported(GOOD.replace(old, new))


def test_a_stateful_set_creates_volumes_from_its_claim_templates() -> None:
    text = GOOD.replace("volumes: [{name: data, emptyDir: {}}]", "").replace(
        "replicas: 1", "volumeClaimTemplates: [{metadata: {name: data}}]"
    )
    assert reported(text, "StatefulSet") == []


LABELS = "{pod-security.kubernetes.io/enforce: baseline, pod-security.kubernetes.io/enforce-version: v1.35, team: a}"
"""Valid labels of Pod Security."""


def labelled(labels: str, *, managed: bool) -> list[tuple[str, str, str]]:
    read = yaml.safe_load(labels)
    body = {"spec": {"syncPolicy": {"managedNamespaceMetadata": {"labels": read}}}}
    manifest = (
        Manifest("a.yaml", (), "argoproj.io/v1alpha1", "Application", "a", body)
        if managed
        else Manifest("a.yaml", (), "v1", "Namespace", "a", {}, labels=read)
    )
    return [
        (finding.rule.id, str(finding.path[-1]), finding.fix)
        for finding in findings(ObjectSet([manifest], is_complete=False))
    ]


@pytest.mark.parametrize("managed", [True, False])
@pytest.mark.parametrize(
    ("old", "new", "rule_id", "key", "fix"),
    [
        ("baseline", "basline", "OBJ005", "enforce", "write baseline"),
        ("baseline", "none", "OBJ005", "enforce", ""),
        ("v1.35", "1.35", "OBJ005", "enforce-version", ""),
        ("v1.35", "v1.035", "OBJ005", "enforce-version", ""),
        ("io/enforce:", "io/enforced:", "OBJ008", "enforced", "write pod-security.kubernetes.io/enforce"),
        ("io/enforce:", "io/exempt:", "OBJ008", "exempt", ""),
    ],
)  # fmt: skip
def test_labels_that_are_unknown_to_pod_security_are_reported(
    old: str, new: str, rule_id: str, key: str, fix: str, managed: bool
) -> None:
    expected = (rule_id, f"pod-security.kubernetes.io/{key}", fix)
    assert labelled(LABELS.replace(old, new, 1), managed=managed) == [expected]


@pytest.mark.parametrize("managed", [True, False])
@pytest.mark.parametrize("version", ["latest", "v1.0", "v1.35"])
def test_levels_and_versions_of_pod_security_pass(version: str, managed: bool) -> None:
    assert labelled(LABELS.replace("v1.35", version), managed=managed) == []
