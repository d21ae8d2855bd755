"""Nothing is said of gpuc's own trees, and `gpuc lint` puts a finding at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuc.cli.lint_command import run_lint
from tests.conftest import EXAMPLES
from tests.lint.checks.references.trees import example_objects, judged, synced_objects


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "part"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_said_of_what_gpuc_emits(name: str, whole: bool) -> None:
    assert judged(example_objects(name), whole=whole, charts_of=name) == []
    assert judged(synced_objects(name), whole=whole, charts_of=name) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_said_of_a_part_of_what_gpuc_emits(name: str) -> None:
    objects = example_objects(name)
    folders = {each.file.rpartition("/")[0] for each in objects}
    for folder in folders:
        part = [each for each in objects if each.file.startswith(folder)]
        loud = [finding for finding in judged(part, whole=False) if finding.rule.severity.value != "info"]
        assert loud == [], folder


def test_lint_shows_a_flaw_at_its_line(
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
    assert run_lint(["queues.yaml"]) == 1
    shown = capsys.readouterr().out
    assert "queues.yaml:5:17" in shown
    assert "REF001" in shown
    assert 'did you mean "research"' in shown
    assert "write research" in shown
