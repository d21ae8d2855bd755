"""The examples have no findings, and `gpuc lint` reports a finding at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.cli.main import run_command
from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, findings_of, synced_objects


@pytest.mark.parametrize("is_complete", [True, False], ids=["complete", "partial"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_finding_in_the_examples(name: str, is_complete: bool) -> None:
    assert findings_of(example_objects(name), is_complete=is_complete, charts_of=name) == []
    assert findings_of(synced_objects(name), is_complete=is_complete, charts_of=name) == []


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


def test_lint_reports_a_finding_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: training, namespace: research}
spec:
  clusterQueue: reserach
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec: {namespaceSelector: {}}
"""
    (tmp_path / "queues.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_command(["lint", "queues.yaml"]) == 1
    shown = capsys.readouterr().out
    assert "queues.yaml:5:17" in shown
    assert "REF001" in shown
    assert 'did you mean "research"' in shown
    assert "write research" in shown
