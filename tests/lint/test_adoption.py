"""Teams with existing files: ignored findings, baselines, fingerprints and hooks."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main
from tests.conftest import ROOT

POD = """apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  foo: 1
  containers:
  - {{name: c, image: i, bar: 1}}
"""
"""A pod with two unknown fields, on lines 5 and 7."""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a repository, in which the commands run, on 2026-12-01."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796083200")
    return tmp_path


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(["lint", *words, "--format", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def found(report: dict[str, Any]) -> list[str]:
    return [f"{row['id']} {row['file']}:{row['line']}" for row in report["findings"]]


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")


LINES = POD.format(name="a").splitlines()
COMMENTS: dict[str, tuple[dict[int, str], list[str]]] = {
    "a document": ({0: "# gpuc: ignore SCH001 the operator reads them\n"}, []),
    "a document after a comment": ({0: "# a pod\n# gpuc: ignore SCH001 the operator reads them\n"}, []),
    "the line": ({4: "  foo: 1  # gpuc: ignore SCH001 known"}, ["SCH001 a.yaml:7"]),
    "the next line": ({4: "  # gpuc: ignore SCH001 known\n  foo: 1"}, ["SCH001 a.yaml:8"]),
    "a list below": ({5: "  # gpuc: ignore SCH001 known\n  containers:"}, ["SCH001 a.yaml:5"]),
    "a block below": ({3: "spec:  # gpuc: ignore SCH001 known"}, []),
    "another rule": ({3: "spec:  # gpuc: ignore SCH003 x"}, ["ACC001 a.yaml:4", "SCH001 a.yaml:5", "SCH001 a.yaml:7"]),
    "no rule": ({4: "  foo: 1  # gpuc: ignore"}, ["SCH001 a.yaml:5", "LNT009 a.yaml:5", "SCH001 a.yaml:7"]),
    "an unknown rule": (
        {4: "  foo: 1  # gpuc: ignore SCH999 x"},
        ["SCH001 a.yaml:5", "LNT009 a.yaml:5", "SCH001 a.yaml:7"],
    ),
    "no reason": ({4: "  foo: 1  # gpuc: ignore SCH001"}, ["SCH001 a.yaml:5", "LNT009 a.yaml:5", "SCH001 a.yaml:7"]),
}  # fmt: skip
"""The lines with comments, by index, and the findings."""


@pytest.mark.parametrize("name", COMMENTS)
def test_a_comment_accepts_findings_at_its_value_and_below(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines, expected = COMMENTS[name]
    changed = [lines.get(number, line) for number, line in enumerate(LINES)]
    if name.startswith("a document"):
        changed[0] = lines[0] + LINES[0]
    write("a.yaml", "\n".join(changed) + "\n")
    report = lint(capsys, ".")
    assert found(report) == expected
    hidden = 2 - sum(row.startswith("SCH001") for row in expected)
    plural = "s" if hidden > 1 else ""
    assert report["remarks"] == ([f"{hidden} finding{plural} ignored by comments or gpuc.yaml"] if hidden else [])


def test_a_comment_of_one_document_says_nothing_about_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", f"# gpuc: ignore SCH001 known\n{POD.format(name='a')}---\n{POD.format(name='b')}")
    assert found(lint(capsys, ".")) == ["SCH001 a.yaml:14", "SCH001 a.yaml:16"]


def test_an_unused_comment_is_a_finding_only_if_the_folder_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", f"# gpuc: ignore REF090 another file has the cause\n{POD.format(name='a')}")
    assert "ACC001 a.yaml:1" in found(lint(capsys, "."))
    assert "ACC001 a.yaml:1" not in found(lint(capsys, "a.yaml"))


SETTINGS: dict[str, tuple[str, list[str]]] = {
    "all files": ("{rule: SCH001, reason: x}", []),
    "a folder": ("{rule: SCH001, files: apps, reason: x}", ["SCH001 b.yaml:5", "SCH001 b.yaml:7"]),
    "a pattern": (
        "{rule: SCH001, files: 'ap*/a.yaml', reason: x, until: 2026-12-01}",
        ["SCH001 b.yaml:5", "SCH001 b.yaml:7"],
    ),
    "a passed day": ("{rule: SCH001, reason: x, until: 2026-11-30}", ["LNT008 gpuc.yaml:3"]),
    "no date": ("{rule: SCH001, reason: x, until: soon}", ["LNT009 gpuc.yaml:3"]),
    "no reason": ("{rule: SCH001}", ["LNT009 gpuc.yaml:3"]),
    "an empty reason": ("{rule: SCH001, reason: ' '}", ["LNT009 gpuc.yaml:3"]),
    "an unknown rule": ("{rule: SCH999, reason: x}", ["LNT009 gpuc.yaml:3"]),
    "an unknown key": ("{rule: SCH001, reason: x, file: a}", ["LNT009 gpuc.yaml:3"]),
    "no map": ("SCH001", ["LNT009 gpuc.yaml:3"]),
    "another rule": ("{rule: REF090, reason: x}", ["ACC001 gpuc.yaml:3"]),
    "a file that is gone": ("{rule: SCH001, files: old, reason: x}", ["ACC001 gpuc.yaml:3"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_gpuc_yaml_accepts_findings_until_a_day(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    entry, expected = SETTINGS[name]
    write("gpuc.yaml", f"lint:\n  ignore:\n  - {entry}\n")
    write("apps/a.yaml", POD.format(name="a"))
    write("b.yaml", POD.format(name="b"))
    reported = found(lint(capsys, "."))
    all_findings = ["SCH001 apps/a.yaml:5", "SCH001 apps/a.yaml:7", "SCH001 b.yaml:5", "SCH001 b.yaml:7"]
    if any("gpuc.yaml" in row for row in expected):
        assert [row for row in reported if "gpuc.yaml" in row] == expected
        assert [row for row in reported if "gpuc.yaml" not in row] == all_findings
    else:
        assert reported == expected


@pytest.mark.parametrize(
    "text", ["lint: 5", "lint: {ignored: []}", "other: {}", "lint: {ignore: {}}", "- a", "a: [", "a: \0"]
)
def test_a_wrong_gpuc_yaml_is_a_finding_with_a_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("gpuc.yaml", text)
    write("a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    rows = lint(capsys, ".")["findings"]
    assert [(row["file"], row["line"]) for row in rows if row["id"] in ("LNT001", "LNT009")]
    assert {row["file"] for row in rows} == {"gpuc.yaml"}


def test_an_entry_about_other_files_is_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    write("gpuc.yaml", "lint: {ignore: [{rule: REF090, reason: x}, {rule: REF090, files: other, reason: x}]}")
    write("apps/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n")
    assert found(lint(capsys, "apps")) == []
    assert len(found(lint(capsys, "."))) == 2


def test_a_baseline_hides_known_findings_and_outlives_moved_lines(capsys: pytest.CaptureFixture[str]) -> None:
    write("apps/a.yaml", POD.format(name="a"))
    assert main(["lint", "apps", "--write-baseline", "known.json"]) == 0
    assert "2 findings written to known.json" in capsys.readouterr().out
    write("apps/a.yaml", f"# moved\n{POD.format(name='a')}---\n{POD.format(name='b')}")
    report = lint(capsys, "apps", "--baseline", "known.json")
    assert found(report) == ["SCH001 apps/a.yaml:14", "SCH001 apps/a.yaml:16"]
    assert report["remarks"] == ["2 findings of the baseline known.json hidden"]
    write("apps/a.yaml", POD.format(name="a").replace("  foo: 1\n", ""))
    report = lint(capsys, str(Path("apps").absolute()), "--baseline", "known.json")
    assert found(report) == []
    assert report["remarks"] == ["1 finding of the baseline known.json hidden; 1 of its findings no longer occur"]
    os.chdir("apps")
    assert found(lint(capsys, ".", "--baseline", "../known.json")) == []


BASELINES = {
    "another format": ('{"gpuc": "9.9",\n "format": 2, "findings": []}', ":2:"),
    "no format": ('{"findings": []}', ":1:"),
    "a list": ("[]", ":1:"),
    "a wrong finding": ('{"format": 1, "gpuc": "0.1.0", "findings": [\n{"fingerprint": "a"},\n{"id": 5}]}', ":3:"),
    "not JSON": ('{"format": 1,\n "findings": [}', ":2:"),
    "empty": ("", ":1:"),
    "deep": ("[" * 100_000, ":1:"),
    "SARIF": ('{"version": "2.1.0", "runs": []}', ":1:"),
}


@pytest.mark.parametrize("name", BASELINES)
def test_a_wrong_baseline_is_a_usage_error_with_a_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text, line = BASELINES[name]
    write("known.json", text)
    write("a.yaml", POD.format(name="a"))
    assert main(["lint", "a.yaml", "--baseline", "known.json"]) == 2
    assert f"known.json{line}" in capsys.readouterr().err


def test_a_baseline_that_is_missing_or_cannot_be_written_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", POD.format(name="a"))
    assert main(["lint", "a.yaml", "--baseline", "no.json"]) == 2
    assert main(["lint", "a.yaml", "--write-baseline", "no/no.json"]) == 2
    assert "no/no.json" in capsys.readouterr().err


def prints(capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["lint", ".", "--format", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    return [row["partialFingerprints"]["primaryLocationLineHash"] for row in results]


def test_fingerprints_are_stable_and_different(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", POD.format(name="h100") + "---\n" + POD.format(name="h200"))
    before = prints(capsys)
    write("a.yaml", "\n# moved\n" + POD.format(name="h100") + "---\n" + POD.format(name="h200"))
    assert prints(capsys) == before
    assert len(set(before)) == 4


def test_reports_go_to_files_too(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", POD.format(name="a"))
    assert main(["lint", "a.yaml", "--output", "sarif=lint.sarif", "--output", "json=lint.json"]) == 1
    assert json.loads(Path("lint.sarif").read_text())["version"] == "2.1.0"
    assert len(json.loads(Path("lint.json").read_text())["findings"]) == 2


HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_the_entry_of_a_hook_is_a_command(hook: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    write("a.yaml", POD.format(name="a"))
    program, *words = hook["entry"].split()
    assert program == "gpuc"
    code = main([*words, *hook.get("args", [])])
    assert code == (1 if words == ["lint"] else 2), "the folder has no specs"
    assert capsys.readouterr().out.count("SCH001") == (3 if words == ["lint"] else 0)


@pytest.mark.slow
def test_pre_commit_runs_the_hook(repository: Path) -> None:
    program = shutil.which("pre-commit")
    if program is None:
        pytest.skip("pre-commit is not installed")
    hook = next(hook for hook in HOOKS if hook["id"] == "gpuc-lint")
    entry = f"{sys.executable} -c 'from gpuc.cli.main import run; run()' lint"
    local = {**hook, "language": "system", "entry": entry}
    write(".pre-commit-config.yaml", yaml.safe_dump({"repos": [{"repo": "local", "hooks": [local]}]}))
    write("a.yaml", POD.format(name="a"))
    (repository / ".git").rmdir()
    environment = {**os.environ, "PRE_COMMIT_HOME": str(repository / "home")}
    subprocess.run("git init -q . && git add -A", shell=True, check=True)
    ran = subprocess.run([program, "run", "--all-files"], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    assert "SCH001" in ran.stdout
    write("gpuc.yaml", "lint: {ignore: [{rule: SCH001, reason: known}]}")
    subprocess.run("git add -A", shell=True, check=True)
    ran = subprocess.run([program, "run", "--all-files"], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
