"""`gpuc lint --build`: what kustomize builds is checked at its places, and what it must not read is refused before."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import main
from gpuc.lint.load import build

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      containers: [{name: c, image: i, foo: 1}]
      restartPolicy: OnFailure
"""
PROGRAMS = [program for program in ("kustomize", "kubectl") if shutil.which(program)]
TREE = {
    "base/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator: [{name: conf, literals: [a=b]}]\n",
    "base/job.yaml": JOB,
    "prod/kustomization.yaml": "namespace: ml\nnamePrefix: prod-\nresources: [../base]\n"
    "patches: [{path: patch.yaml}]\ncomponents: [../part]\n",
    "prod/patch.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"
    "spec: {template: {spec: {restartPolicy: Never}}}\n",
    "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    "patches:\n- target: {kind: Job}\n  patch: |-\n    - {op: add, path: /spec/parallelism, value: many}\n",
    "prod/unused_patch.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {}\n",
    "plain/a.yaml": JOB.replace("train", "plain"),
}
"""An overlay with a base and a component, and an object that no Kustomization has."""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a repository, in which the commands run."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(["lint", *words, "--build", "--format", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def found(report: dict[str, Any]) -> list[str]:
    return [f"{row['id']} {row['file']}:{row['line']}" for row in report["findings"]]


def only(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a program the only one in PATH."""
    bin_folder = folder / "bin"
    bin_folder.mkdir()
    (bin_folder / program).symlink_to(shutil.which(program) or "")
    monkeypatch.setenv("PATH", str(bin_folder))


@pytest.mark.parametrize("program", ["kustomize", "kubectl"])
def test_the_result_of_a_build_is_checked_at_the_places_of_its_files(
    program: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if program not in PROGRAMS:
        pytest.skip(f"{program} is not installed")
    only(program, tmp_path, monkeypatch)
    write(TREE)
    report = lint(capsys, ".")
    assert report["remarks"] == ["prod: built"]
    assert found(report) == ["SCH002 base/job.yaml:5", "SCH001 base/job.yaml:7", "SCH001 plain/a.yaml:7"]
    assert report["findings"][0]["message"].startswith("Job ml/prod-train: spec.parallelism: ")
    assert found(lint(capsys, "prod")) == ["SCH002 base/job.yaml:5", "SCH001 base/job.yaml:7"]


def test_two_overlays_of_a_base_are_two_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    if not PROGRAMS:
        pytest.skip("neither kustomize nor kubectl is installed")
    queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: a}\n"
    write({"base/kustomization.yaml": "resources: [a.yaml]", "base/a.yaml": queue})
    write({f"{name}/kustomization.yaml": "resources: [../base]" for name in ("staging", "prod")})
    report = lint(capsys, ".")
    assert report["remarks"] == ["prod: built", "staging: built"]
    assert report["findings"] == []


def test_a_comment_in_a_base_accepts_a_finding_about_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    if not PROGRAMS:
        pytest.skip("neither kustomize nor kubectl is installed")
    write({**TREE, "base/job.yaml": f"# gpuc: ignore SCH001 known\n{JOB}"})
    assert found(lint(capsys, ".")) == ["SCH002 base/job.yaml:6", "SCH001 plain/a.yaml:7"]


DEEP = {f"d{n}/kustomization.yaml": f"resources: [../d{n + 1}]" for n in range(200)}
"""Kustomizations of which each one uses the next one."""
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "deep bases": (DEEP | {"d200/kustomization.yaml": "namespace: a"}, "more than 100 bases"),
    "a URL": ({"kustomization.yaml": "resources: ['https://example.com/a.yaml']"}, "is remote"),
    "a repository": ({"kustomization.yaml": "bases: ['github.com/org/repo/base?ref=v1']"}, "is remote"),
    "ssh": ({"kustomization.yaml": "components: ['git@example.com:org/repo']"}, "is remote"),
    "a remote patch": ({"kustomization.yaml": "patches: [{path: 'https://example.com/a.yaml'}]"}, "is remote"),
    "a chart": ({"kustomization.yaml": "helmCharts: [{name: a}]"}, "Helm charts"),
    "a chart below": (
        {"kustomization.yaml": "resources: [a]", "a/kustomization.yaml": "helmCharts: [{name: a}]"},
        "Helm charts",
    ),
    "a file outside": (
        {"a/kustomization.yaml": "resources: [../a.yaml]", "a.yaml": JOB},
        "outside of the folder: ../a.yaml (a/kustomization.yaml:1:13)",
    ),
    "a folder outside": ({"kustomization.yaml": "resources: [../../..]"}, "leads out of the repository"),
    "a file of the system": (
        {"kustomization.yaml": "configMapGenerator: [{name: a, files: [/etc/passwd]}]"},
        "leads out of the repository",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "deep bases" else name for name in REFUSED]
)
def test_what_kustomize_must_not_read_is_refused_before(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files, reason = REFUSED[name]
    monkeypatch.setattr(build, "_run", lambda *arguments: pytest.fail("kustomize runs"))
    write(files)
    report = lint(capsys, ".")
    assert [row for row in found(report) if row.startswith("LNT")] == []
    assert any("files as they are, because" in remark and reason in remark for remark in report["remarks"])


MISTAKES: dict[str, tuple[dict[str, str], list[str]]] = {
    "itself": ({"a/kustomization.yaml": "resources:\n- .\n"}, ["LNT010 a/kustomization.yaml:2"]),
    "a circle": (
        {"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [../a]"},
        ["LNT010 a/kustomization.yaml:1", "LNT010 b/kustomization.yaml:1"],
    ),
    "no file": ({"a/kustomization.yaml": "resources:\n- b.yaml\n- c.yaml\n"}, ["LNT010 a/kustomization.yaml:2"]),
    "no Kustomization": (
        {"a/kustomization.yaml": "resources: [b]", "a/b/c.txt": ""},
        ["LNT010 a/kustomization.yaml:1"],
    ),
    "a broken base": (
        {"a/kustomization.yaml": "resources: [b]", "a/b/kustomization.yaml": "a: }"},
        ["LNT001 a/b/kustomization.yaml:1", "LNT010 a/kustomization.yaml:1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_kustomization_that_cannot_be_built_is_a_finding(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    files, expected = MISTAKES[name]
    write(files)
    report = lint(capsys, ".")
    assert found(report) == expected
    assert all("files as they are, because" in remark for remark in report["remarks"])


def test_bases_that_many_bases_use_are_read_once(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = {
        f"{side}{n}/kustomization.yaml": f"resources: [../a{n + 1}, ../b{n + 1}]" for n in range(60) for side in "ab"
    }
    write(pairs | {f"{side}60/kustomization.yaml": "resources: [c.yaml]" for side in "ab"})
    report = lint(capsys, "a0")
    assert found(report) == ["LNT010 a60/kustomization.yaml:1"]


def test_a_mistake_that_kustomize_finds_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    if not PROGRAMS:
        pytest.skip("neither kustomize nor kubectl is installed")
    write(
        {"kustomization.yaml": "resources: [a.yaml]\npatches: [{target: {kind: Job}, patch: nonsense}]", "a.yaml": JOB}
    )
    report = lint(capsys, ".")
    assert found(report) == ["SCH001 a.yaml:7", "LNT010 kustomization.yaml:1"]
    assert "unable to parse SM or JSON patch" in report["findings"][1]["message"]


def test_plugins_are_refused_by_kustomize_itself(capsys: pytest.CaptureFixture[str]) -> None:
    if not PROGRAMS:
        pytest.skip("neither kustomize nor kubectl is installed")
    plugin = "apiVersion: example.com/v1\nkind: Plugin\nmetadata: {name: a}\n"
    write({"kustomization.yaml": "generators: [a.yaml]", "a.yaml": plugin})
    report = lint(capsys, ".")
    assert found(report) == []
    assert "external plugins disabled" in report["remarks"][0]


SCRIPTS = {
    "slow": ("exec /bin/sleep 60", "takes longer than 1 seconds"),
    "large": ("exec /bin/cat /dev/zero", "larger than 0 MiB"),
    "failing": ("echo 'Error: no' >&2; exit 3", "kustomize says: no"),
    "environment": ('test -z "$PATH$SECRET" && test "$HOME" = "$PWD" && test -n "$HTTPS_PROXY" || exit 3', "built"),
}
"""Programs named kustomize, and what the report says about them."""


@pytest.mark.parametrize("name", SCRIPTS)
def test_kustomize_has_limits_and_no_environment(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, remark = SCRIPTS[name]
    write({"bin/kustomize": f"#!/bin/sh\n{script}\n", "kustomization.yaml": "resources: [a.yaml]", "a.yaml": JOB})
    (tmp_path / "bin/kustomize").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SECRET", "token")
    monkeypatch.setattr(build, "SECONDS_MAX", 1)
    monkeypatch.setattr(build, "OUTPUT_MAX_BYTES", 1 << 18)
    report = lint(capsys, ".")
    assert remark in report["remarks"][0] + "".join(row["message"] for row in report["findings"])


def test_without_a_program_the_files_stay_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(TREE)
    monkeypatch.setenv("PATH", os.devnull)
    report = lint(capsys, ".")
    assert report["remarks"] == ["prod: files as they are, because neither kustomize nor kubectl is in PATH"]
    assert found(report) == ["SCH001 base/job.yaml:7", "SCH001 plain/a.yaml:7"]
