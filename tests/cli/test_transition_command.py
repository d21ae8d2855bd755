"""`gpuc rehearse --from`: what is checked before the first control plane starts, and the reports after a failure."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpuc.diagnostics.report.output import ReportFile
from gpuc.diagnostics.report.progress import Progress
from gpuc.diagnostics.usage import UsageError
from gpuc_rehearsal.cli.rehearse_command import RehearsalOptions, report_runs
from gpuc_rehearsal.cli.transition_command import transitions
from gpuc_rehearsal.process import ProgramError
from gpuc_rehearsal.transition import run
from gpuc_rehearsal.transition.result import TransitionResult
from tests.conftest import MACHINES
from tests.plan.repository import fleet

FILES = ["specs/infer-euw1.yaml", "specs/prod-use1.yaml"]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The clusters whose control plane starts, without a control plane. The one of prod-use1 fails."""
    names: list[str] = []

    @contextmanager
    def transition(change: run.Transition, *_: Any) -> Iterator[TransitionResult]:
        names.append(change.after.cluster.name)
        if names[-1] == "prod-use1":
            raise ProgramError("etcd ended")
        yield TransitionResult(cluster=names[-1], file=change.after.cluster.file, before=change.name)

    monkeypatch.setattr(run, "transition", transition)
    return names


def run_from(before: Path, root: Path, report: Path) -> None:
    options = RehearsalOptions(before=str(before))
    output = ReportFile("json", str(report))
    try:
        runs = transitions(root, FILES, None, options, lambda step: None)  # type: ignore[arg-type]
        report_runs(runs, options, "text", [output], Progress(None))
    finally:
        output.discard()


def test_a_spec_of_the_state_before_with_an_error_stops_before_the_first_control_plane(
    tmp_path: Path, started: list[str]
) -> None:
    root = fleet(tmp_path / "fleet", "infer-euw1", "prod-use1").root
    before = tmp_path / "before"
    shutil.copytree(root, before)
    spec = before / FILES[1]
    spec.write_text(spec.read_text().replace("environment: prod", "surroundings: prod", 1))
    with pytest.raises(UsageError, match=r"^the state before does not compile: specs/prod-use1.yaml:\d+:\d+: "):
        run_from(before, root, tmp_path / "report.json")
    assert started == []
    assert not (tmp_path / "report.json").exists()


def test_a_transition_does_not_move_a_cluster_to_another_substrate(tmp_path: Path, started: list[str]) -> None:
    root = fleet(tmp_path / "fleet", "infer-euw1", "prod-use1").root
    before = tmp_path / "before"
    shutil.copytree(MACHINES, before)
    text = (before / "specs/lab-dc1.yaml").read_text()
    (before / FILES[0]).write_text(text.replace("name: lab-dc1", "name: infer-euw1"))
    with pytest.raises(UsageError, match=r"^specs/infer-euw1.yaml had existing nodes in .* and has EKS with Karpenter"):
        run_from(before, root, tmp_path / "report.json")
    assert started == []


def test_a_failure_leaves_the_reports_of_the_transitions_before(tmp_path: Path, started: list[str]) -> None:
    root = fleet(tmp_path / "fleet", "infer-euw1", "prod-use1").root
    with pytest.raises(ProgramError):
        run_from(root, root, tmp_path / "report.json")
    assert started == ["infer-euw1", "prod-use1"]
    assert "infer-euw1" in json.dumps(json.loads((tmp_path / "report.json").read_text()))


def test_from_without_a_name_is_not_a_rehearsal_of_one_state() -> None:
    with pytest.raises(UsageError, match="remove --case"):
        RehearsalOptions(before="", case=["x"]).require_compatible()
