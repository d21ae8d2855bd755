"""What a spec accepts with a reason, no judge of the output refuses by another name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gpuc.cli.main import main
from tests.conftest import ROOT

OVER = ("train-h100: {nodes: 10,", "train-h100: {nodes: 30,")
QUEUE = "    research:\n      tenants: [research]\n"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "specs", tmp_path / "specs")
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "specs" / "prod-use1.yaml"
    file.write_text(file.read_text().replace(*OVER))
    return file


def test_an_overcommit_is_an_error(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "prod-use1"]) == 1
    assert "KRP004" in capsys.readouterr().out


def test_an_accepted_overcommit_passes_the_judges_too(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accepted = QUEUE.replace("tenants", 'accept: {KRP004: "more nodes come in winter"}\n      tenants')
    spec.write_text(spec.read_text().replace(QUEUE, accepted))
    assert main(["check", "--strict", "prod-use1"]) == 0, capsys.readouterr().out


def test_an_acceptance_of_a_judge_without_effect_is_told(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = spec.read_text().replace(OVER[1], OVER[0])
    spec.write_text(text.replace(QUEUE, QUEUE.replace("tenants", 'accept: {QTA004: "none"}\n      tenants')))
    main(["check", "prod-use1"])
    assert capsys.readouterr().out.count("ACC001") >= 1
