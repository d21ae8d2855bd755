"""`gpuc lint` as a user runs it: usage errors, unreadable files, the examples, and objects of any shape."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from gpuc.cli.main import main
from gpuc.lint.checks import findings
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.fields.schema import schema_findings
from tests.conftest import EXAMPLES, ROOT
from tests.lanes import drawn


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["lint", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


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
    tuple(kind.split())
    for kind in (
        "v1 Pod", "v1 ConfigMap", "v1 Namespace", "v1 ResourceQuota", "batch/v1 Job",
        "networking.k8s.io/v1 NetworkPolicy", "rbac.authorization.k8s.io/v1 RoleBinding",
        "rbac.authorization.k8s.io/v1 ClusterRole", "karpenter.sh/v1 NodePool", "karpenter.sh/v1alpha1 NodeOverlay",
        "kueue.x-k8s.io/v1beta2 ClusterQueue", "kueue.x-k8s.io/v1beta2 LocalQueue",
        "kueue.x-k8s.io/v1beta2 ResourceFlavor", "kueue.x-k8s.io/v1beta2 Cohort",
        "templates.gatekeeper.sh/v1 ConstraintTemplate", "constraints.gatekeeper.sh/v1beta1 GpucImages",
        "argoproj.io/v1alpha1 Application",
    )
]  # fmt: skip
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


def test_stdin_is_read() -> None:
    command = [sys.executable, "-c", "from gpuc.cli.main import main; main(['lint', '-', '--format', 'json'])"]
    ran = subprocess.run(command, input="kind: Pod\napiVersion: v1\n", capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["findings"][0]["file"] == "-"


@pytest.mark.parametrize(("version", "code"), [("v1.34.2", 0), ("1.34", 0), ("1.12", 2), ("x", 2)])
def test_an_unknown_kubernetes_version_is_a_usage_error(
    version: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    assert main(["lint", str(tmp_path), "--kubernetes", version]) == code
