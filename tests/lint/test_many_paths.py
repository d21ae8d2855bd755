"""Many paths are linted in several processes, and the report is the same as that of one process."""

import os
from pathlib import Path

import pytest

from gpuc.diagnostics.usage import UsageError
from gpuc.lint import linter
from gpuc.lint.linter import Linter

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: pod-{number}}}
spec: {{containers: [{{name: work, image: "registry.example.com/work:1", imagePullPolicies: Always}}]}}
---
{{replicas: {number}}}
"""


def _linted(paths: list[str]) -> tuple[object, ...]:
    """The findings with their lines, the number of objects, and the sentences about unchecked input."""
    result = Linter("1.35")
    result.lint_all(paths)
    lines = [result.source_map.line(finding.mark) for finding in result.findings if finding.mark]
    return result.findings, lines, result.objects, list(result.unchecked.sentences(has_chart=False, has_crds=False))


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    files = [tmp_path / f"{number}.yaml" for number in range(10)]
    for number, file in enumerate(files):
        file.write_text(POD.format(number=number), encoding="utf-8")
    return list(map(str, files))


def test_several_processes_report_the_same_in_the_same_order(paths: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    together = _linted(paths)
    monkeypatch.setattr(linter, "_PATHS_IN_PROCESSES", 100)
    assert together == _linted(paths)
    assert len(together[0]) == 10


def test_a_path_without_yaml_stops_all_processes(
    paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no YAML in"):
        _linted([*paths, str(tmp_path / "empty")])
