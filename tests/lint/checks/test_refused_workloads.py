"""`gpuc lint` reports workloads that the admission of their own tree refuses (D2)."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main
from tests.conftest import ROOT
from tests.trace.test_whole_way import MAIN, POD, job

TREE = ROOT / "out" / "infer-euw1"


def findings(folder: Path, capsys: pytest.CaptureFixture[str], document: Any) -> list[tuple[str, int]]:
    """Returns the ids and lines of the findings about a workload in the tree of an example."""
    (folder / "work.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    for part in ("tenants", "policies"):
        copytree(TREE / part, folder / part)
    main(["lint", str(folder), "--format", "json"])
    report = json.loads(capsys.readouterr().out)["findings"]
    return [(row["id"], row["line"]) for row in report if row["file"].endswith("work.yaml")]


def test_a_correct_job_has_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(tmp_path, capsys, job()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {f"{POD}hostNetwork": True},
        {f"{MAIN}image": "docker.io/team/embed:1"},
        {f"{MAIN}securityContext": {"privileged": True}},
        {f"{POD}securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}},
    ],
)
def test_d2_a_refused_job_is_an_error(
    changes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "SCD010" in {name for name, _ in findings(tmp_path, capsys, job(**changes))}
