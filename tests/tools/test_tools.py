"""gpuc tools finds, lists and builds the programs. No test here builds a program."""

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.report import progress
from gpuc_rehearsal.tools import build
from gpuc_rehearsal.tools.selection import OTHERS, PINS, REHEARSAL, Program, Selection
from tests.conftest import ROOT

SELECTIONS = [REHEARSAL, *OTHERS.values()]


def option(selection: Selection) -> list[str]:
    return selection.command.split()[2:]


@pytest.mark.parametrize("selection", SELECTIONS, ids=lambda selection: selection.command)
def test_where_and_list_need_no_go(
    selection: Selection, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("GPUC_TOOLS", raising=False)
    assert main(["tools", *option(selection), "--where"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder.parent == (tmp_path / "gpuc" / "tools" / selection.below)
    assert main(["tools", *option(selection), "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [[p.name, p.version(), "missing"] for p in selection.programs]


def test_every_go_mod_is_used_and_pins_the_programs() -> None:
    parts = [part for selection in SELECTIONS for table in selection.tables.values() for part in table.values()]
    used = {part["folder"] for part in parts}
    assert {file.parent.relative_to(PINS).as_posix() for file in PINS.rglob("go.mod")} == used
    assert all((PINS / folder / "go.sum").is_file() for folder in used)
    for part in parts:
        assert part["module"] in (PINS / part["folder"] / "go.mod").read_text()


def test_the_hash_functions_have_the_versions_of_the_rehearsal() -> None:
    def version(folder: str, module: str) -> str:
        return Program("", folder, module, "").version()

    core, aws = "sigs.k8s.io/karpenter", "github.com/aws/karpenter-provider-aws"
    assert version("karpenter-hash/program", core) == version("karpenter", core)
    assert version("karpenter-hash/program", aws) == version("karpenter-aws", aws)


def test_the_folder_depends_on_every_pin_of_the_selection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPUC_TOOLS", raising=False)
    table = tmp_path / "programs.toml"
    table.write_text(OTHERS["lws"].table.read_text())
    folder = tmp_path / "manager"
    folder.mkdir()
    names = set()
    for file, text in (("go.mod", "module a\n"), ("go.mod", "module b\n"), ("main.go", "package main\n")):
        (folder / file).write_text(text)
        names.add(Selection(table, "lws", "").home().name)
    assert len(names) == 3


def test_the_build_reports_missing_go_in_one_sentence(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "gpuc.cli.main", "tools"]
    environment |= {"PYTHONPATH": f"{ROOT / 'compiler'}:{ROOT / 'rehearsal'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert "Go is required to build the programs and is not installed" in sentence


def test_a_complete_folder_is_not_built_again_and_a_wrong_program_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = OTHERS["lws"].programs
    binary = tmp_path / "lws" / "bin" / program.name
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\necho {program.version()}\n")
    binary.chmod(stat.S_IRWXU)
    (tmp_path / "lws" / "data.json").write_text("{}")
    digest = hashlib.sha256(binary.read_bytes()).digest()
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path))
    assert main(["tools", "--lws"]) == 0
    assert f"1 programs are ready in {tmp_path}/lws" in capsys.readouterr().out
    assert hashlib.sha256(binary.read_bytes()).digest() == digest
    binary.write_text("#!/bin/sh\necho broken; exit 3\n")
    assert main(["tools", "--lws"]) == 1
    assert "exits with code 3: broken" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_a_folder_that_cannot_be_written_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o500)
    monkeypatch.setenv("GPUC_TOOLS", str(tmp_path / "programs"))
    assert main(["tools"]) == 1
    assert "the programs cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("stream", ["terminal", "pipe in CI"])
def test_the_progress_of_a_build_is_on_stderr(
    stream: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "" if stream == "terminal" else "true")
    monkeypatch.setattr(progress, "is_terminal", lambda _: stream == "terminal")
    monkeypatch.setattr(progress, "_DELAY_SECONDS", 0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(build, "require_go", lambda _: None)
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho module >&2\necho built > "$2"\n')
    go.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{go.parent}:{os.environ['PATH']}")
    (program,) = OTHERS["lws"].programs
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(build, "_write_data", lambda *_: None)
    build._build_missing(OTHERS["lws"], tmp_path)
    out, err = capsys.readouterr()
    label = f"[ 1/1] {program.name} {program.version()}"
    assert out == f"{label}: 0.0 min, 0 MiB\n"
    assert f"{label}: 1 packages, 0.0 min" in err
    assert ("\x1b[K" in err) == (stream == "terminal")
