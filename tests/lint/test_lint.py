"""`gpuc lint` as a user runs it: findings have lines, and the report lists everything that could not be checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from gpuc.cli.main import main
from gpuc.lint.checks import findings
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.fields.schema import schema_findings
from tests.conftest import EXAMPLES, ROOT
from tests.lanes import drawn

POOL = """\
# A node pool that a user wrote.
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  limits: {nvidia.com/gpu: 8}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
"""


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["lint", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def ids_and_places(report: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(finding["id"], finding["line"], finding["column"]) for finding in report["findings"]]


def test_good_objects_have_no_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pool.yaml").write_text(POOL)
    code, report = lint(capsys, str(tmp_path))
    assert (code, report["findings"], report["unchecked"]) == (0, [], [])


def test_a_mistake_is_reported_at_its_line_with_its_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pool.yaml").write_text(POOL.replace("requirements:", "requirement:"))
    code, report = lint(capsys, str(tmp_path))
    assert code == 1
    assert ("SCH001", 10, 7) in ids_and_places(report)
    assert any('did you mean "requirements"' in finding["message"] for finding in report["findings"])


def test_several_documents_and_lists_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": "80"}]}}
    dump = {"apiVersion": "v1", "kind": "List", "items": [bad]}
    typed = {
        "apiVersion": "v1",
        "kind": "ServiceList",
        "items": [{**bad, "metadata": {"name": "b"}, "status": {"loadBalancer": {}}}],
    }
    del typed["items"][0]["apiVersion"], typed["items"][0]["kind"]
    (tmp_path / "all.yaml").write_text(f"{POOL}---\n{yaml.safe_dump(dump)}---\n{yaml.safe_dump(typed)}")
    (tmp_path / "one.json").write_text(json.dumps(bad, indent=1))
    _, report = lint(capsys, str(tmp_path))
    assert [finding["id"] for finding in report["findings"]] == ["SCH002"] * 3
    assert [finding["file"] for finding in report["findings"]] == [str(tmp_path / "all.yaml")] * 2 + [
        str(tmp_path / "one.json")
    ]


def test_the_report_lists_what_could_not_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "chart.yaml").write_text("a:\n{{- range .Values.x }}\n  b: {{ . }}\n{{- end }}\n")
    (tmp_path / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n"
    )
    (tmp_path / "other.yaml").write_text("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n")
    (tmp_path / "values.yaml").write_text("driver: {enabled: false}\n")
    code, report = lint(capsys, str(tmp_path))
    assert (code, report["findings"]) == (0, [])
    words = ("templates that are not YAML yet", "Kustomization", "example.com/v1 Thing", "--chart NAME=VERSION")
    assert all(any(word in sentence for sentence in report["unchecked"]) for word in words), report["unchecked"]


def test_values_of_a_chart_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "values.yaml").write_text("driver:\n  enable: false\n")
    code, report = lint(capsys, str(tmp_path), "--chart", "gpu-operator=v26.7.0")
    assert (code, ids_and_places(report)) == (1, [("VAL001", 2, 3)])


def test_an_empty_value_that_renders_to_a_null_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "values.yaml").write_text("mig:\n  strategy: ''\n")
    _, report = lint(capsys, str(tmp_path), "--chart", "gpu-operator=v26.7.0")
    assert ids_and_places(report) == [("VAL005", 2, 13)]
    (tmp_path / "values.yaml").write_text("mig:\n  strategy: ''\nclusterPolicy:\n  deployCR: false\n")
    _, report = lint(capsys, str(tmp_path), "--chart", "gpu-operator=v26.7.0")
    assert ids_and_places(report) == []


def test_a_chart_of_another_version_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "values.yaml").write_text("a: 1\n")
    assert main(["lint", str(tmp_path), "--chart", "gpu-operator=v1.0.0"]) == 2
    assert "gpu-operator=v26.7.0" in capsys.readouterr().err


def test_a_folder_without_yaml_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(tmp_path)]) == 2
    assert "no YAML" in capsys.readouterr().err


def test_unreadable_files_are_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c.yaml").write_text("kind: Pod\napiVersion: v1\nmetadata: []\n")
    _, report = lint(capsys, str(tmp_path))
    assert [finding["id"] for finding in report["findings"]] == ["LNT005", "LNT005", "LNT004"]


def test_the_output_of_the_examples_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    for name in EXAMPLES:
        _, report = lint(capsys, str(ROOT / "out" / name))
        assert report["findings"] == []


KINDS = [
    ("v1", "Pod"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
    ("v1", "ResourceQuota"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("karpenter.sh/v1", "NodePool"),
    ("karpenter.sh/v1alpha1", "NodeOverlay"),
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
    ("kueue.x-k8s.io/v1beta2", "Cohort"),
    ("templates.gatekeeper.sh/v1", "ConstraintTemplate"),
    ("constraints.gatekeeper.sh/v1beta1", "GpucImages"),
    ("argoproj.io/v1alpha1", "Application"),
]
WORDS = st.sampled_from(
    [
        "spec", "template", "metadata", "labels", "name", "key", "operator", "values", "containers", "resources",
        "limits", "nvidia.com/gpu", "resourceGroups", "coveredResources", "flavors", "nominalQuota", "podSelector",
        "matchLabels", "matchExpressions", "ingress", "egress", "from", "to", "ports", "rules", "verbs", "hard",
        "nodeLabels", "taints", "requirements", "namespaceSelector", "clusterQueue", "subjects", "roleRef", "targets",
    ]
)  # fmt: skip
STRANGE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 10**20)
    | st.floats(allow_nan=False)
    | st.text("aB1-./ é", max_size=5)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@drawn(150, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(KINDS), STRANGE, STRANGE, STRANGE), min_size=1, max_size=4))
def test_no_object_makes_a_check_fail(objects: list[tuple[tuple[str, str], Any, Any, Any]]) -> None:
    documents = [
        {"apiVersion": api, "kind": kind, "metadata": {"name": "a", "labels": labels}, "spec": spec, "rules": rules}
        for (api, kind), labels, spec, rules in objects
    ]
    reading = LoadedFiles()
    reading.add("f.json", "\n---\n".join(json.dumps(document, ensure_ascii=False) for document in documents))
    assert len(reading.manifests) == len(objects)
    schema_findings(reading.manifests, "1.35", as_written=True)
    list(findings(ObjectSet(reading.manifests, is_complete=False)))


def test_repeated_objects_and_invalid_labels_are_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: LABELS}\n"
    made = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n"
    file = tmp_path / "objects.yaml"
    file.write_text("---\n".join([settings.replace("LABELS", "[x]"), settings.replace("LABELS", "{}"), made, made]))
    main(["lint", str(file), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(finding["id"], finding["line"]) for finding in found] == [("LNT007", 3), ("LNT006", 7)]


@pytest.mark.parametrize("value", ["5", "true"])
def test_a_label_of_a_flavor_that_is_no_string_is_one_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    pool = POOL.replace("  template:\n", f'  template:\n    metadata: {{labels: {{example.com/pool: "{value}"}}}}\n')
    pool = pool.replace("    spec:\n", "    spec:\n      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]\n")
    (tmp_path / "pool.yaml").write_text(pool)
    for written, expected in ((value, [("SCH002", 5, 34)]), (f'"{value}"', [("REF022", 5, 3)])):
        (tmp_path / "flavor.yaml").write_text(f"""\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: gpu}}
spec:
  nodeLabels: {{example.com/pool: {written}}}
""")
        _, report = lint(capsys, str(tmp_path))
        assert ids_and_places(report) == expected
