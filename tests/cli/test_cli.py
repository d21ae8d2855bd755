"""The command line: arguments, exit codes and output.

A fake pipeline returns findings and raises errors on demand.
"""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.finding import DeclarationError, Finding, Mark, Severity
from gpuc.diagnostics.report.result import Report
from tests.tables import table

TABLE = table(__file__, "cases.yaml")
ERROR = Finding("ZZZ001", Severity.ERROR, "wrong", (), Mark("specs/prod.yaml", 1, 1), cluster="prod")
WARNING = Finding("ZZZ002", Severity.WARNING, "odd", (), Mark("specs/prod.yaml", 2, 1), cluster="prod")


@dataclass
class Pipeline:
    """A fake pipeline: it records its calls and returns the findings."""

    findings: tuple[Finding, ...] = ()
    failures: tuple[Finding, ...] = ()
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    raises: BaseException | None = None

    def run(self, *arguments: Any) -> Any:
        self.calls.append(arguments[:-2])
        if self.raises is not None:
            raise self.raises
        return Report(self.findings, ("prod",), failures=self.failures)


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    fake = Pipeline()
    module = ModuleType("gpuc.pipeline.pipeline")
    module.__dict__.update(compile_specs=fake.run, check_specs=fake.run)
    monkeypatch.setitem(sys.modules, "gpuc.pipeline.pipeline", module)
    monkeypatch.setattr("gpuc.pipeline.pipeline", module, raising=False)
    return fake


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path.resolve() / "fleet"
    for file in ("prod.yaml", "dev.yaml", "base/eks.yaml", "base/net.yaml", "lab/net.yml"):
        path = root / "specs" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kind: Cluster\n")
    monkeypatch.chdir(root)
    monkeypatch.delenv("GPUC_DEBUG", raising=False)
    return root


@pytest.mark.parametrize(
    ("findings", "arguments", "code"),
    [
        ((), [], 0),
        ((WARNING,), [], 0),
        ((WARNING,), ["--strict"], 1),
        ((ERROR,), [], 1),
        ((ERROR, WARNING), ["--format", "json"], 1),
    ],
)
@pytest.mark.usefixtures("fleet")
def test_exit_code_follows_the_findings(
    pipeline: Pipeline, findings: tuple[Finding, ...], arguments: list[str], code: int
) -> None:
    pipeline.findings = findings
    assert main(["check", *arguments]) == code
    assert main(["compile", *arguments]) == code


@pytest.mark.parametrize(
    ("words", "files"),
    [
        ([], None),
        (["prod"], ["specs/prod.yaml"]),
        (["dev.yaml"], ["specs/dev.yaml"]),
        (["../specs/dev.yaml", "prod", "dev"], ["specs/dev.yaml", "specs/prod.yaml"]),
    ],
)
def test_specs_are_paths_from_here_or_cluster_names(
    fleet: Path,
    pipeline: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    files: list[str] | None,
) -> None:
    monkeypatch.chdir(fleet / "specs")
    assert main(["check", *words[:1], "--fresh", *words[1:]]) == 0
    assert pipeline.calls == [(fleet, files, fleet, True)]


def test_into_is_relative_to_here(fleet: Path, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet / "specs")
    assert main(["compile", "prod", "--into", "new"]) == 0
    assert pipeline.calls == [(fleet, ["specs/prod.yaml"], fleet / "specs" / "new")]


@pytest.mark.parametrize(("words", "message"), TABLE["usage errors"].items())
def test_usage_errors_are_one_line_before_any_work(
    fleet: Path, pipeline: Pipeline, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"gpuc: {message}")
    assert err.count("\n") == 1
    assert pipeline.calls == []
    assert sorted(path.name for path in fleet.iterdir()) == ["specs"]


def test_a_folder_without_specs_names_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    assert "gpuc init FOLDER" in capsys.readouterr().err


def test_reports_go_to_stdout_and_complete_to_files(
    fleet: Path, pipeline: Pipeline, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    pipeline.findings = (ERROR,)
    (fleet / "a.json").write_text("old")
    assert main(["check", "--format", "json", "--output", "json=a.json", "--output", "text=a.txt"]) == 1
    out, _ = capsys.readouterr()
    assert json.loads(out)["findings"][0]["id"] == "ZZZ001"
    assert (fleet / "a.json").read_text() == out
    assert (fleet / "a.txt").read_text().startswith("specs/prod.yaml:1:1  error ZZZ001  wrong\n")
    assert sorted(path.name for path in fleet.iterdir()) == ["a.json", "a.txt", "specs"]


def test_a_run_that_fails_leaves_the_old_report(fleet: Path, pipeline: Pipeline) -> None:
    (fleet / "a.json").write_text("old")
    pipeline.raises = RuntimeError("boom")
    assert main(["check", "--output", "json=a.json"]) == 3
    assert (fleet / "a.json").read_text() == "old"
    assert sorted(path.name for path in fleet.iterdir()) == ["a.json", "specs"]


@pytest.mark.parametrize(
    ("raised", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device", "out/a"), 3, "cannot continue: No space left on device: out/a"),
        (DeclarationError("XYZ001 is declared in a and in b"), 3, "XYZ001 is declared in a and in b\n"),
        (RuntimeError("boom\nbang"), 3, "internal error at cli/compile_command.py:"),
    ],
)
@pytest.mark.usefixtures("fleet")
def test_an_unexpected_error_is_one_line(
    pipeline: Pipeline, capsys: pytest.CaptureFixture[str], raised: BaseException, code: int, message: str
) -> None:
    pipeline.raises = raised
    assert main(["compile"]) == code
    err = capsys.readouterr().err
    assert err.startswith(f"gpuc: {message}")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("fleet")
def test_a_traceback_is_printed_only_with_gpuc_debug(
    pipeline: Pipeline, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.raises = RuntimeError("boom")
    monkeypatch.setenv("GPUC_DEBUG", "1")
    assert main(["compile"]) == 3
    assert "Traceback (most recent call last)" in capsys.readouterr().err


@pytest.mark.usefixtures("fleet")
def test_quiet_prints_errors_and_warnings_or_nothing(pipeline: Pipeline, capsys: pytest.CaptureFixture[str]) -> None:
    info = Finding("ZZZ003", Severity.INFO, "small", (), Mark("specs/prod.yaml", 3, 1), cluster="prod")
    for command in ("compile", "check"):
        pipeline.findings = (info,)
        assert main([command, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")
        pipeline.findings = (ERROR, WARNING, info)
        assert main([command, "-q"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert lines == ["specs/prod.yaml:1:1  error ZZZ001  wrong", "specs/prod.yaml:2:1  warning ZZZ002  odd"]
    assert main(["check", "-q", "--format", "json"]) == 1
    assert [finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]][-1] == "ZZZ003"


def test_annotations_name_files_from_the_top_of_the_repository(
    fleet: Path, pipeline: Pipeline, capsys: pytest.CaptureFixture[str]
) -> None:
    (fleet.parent / ".git").mkdir()
    pipeline.findings = (ERROR,)
    main(["check", "--format", "github"])
    assert capsys.readouterr().out == "::error file=fleet/specs/prod.yaml,line=1,col=1,title=ZZZ001::wrong\n"
