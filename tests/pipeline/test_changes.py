"""What `gpuc compile` says that it added, changed and removed."""

import json
import shutil
from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.report.changes import MAX_LINES, ClusterChange, SubjectChange, lines
from tests.conftest import ROOT, edit

CLUSTER = "infer-euw1"
SPEC = f"specs/{CLUSTER}.yaml"


@pytest.fixture
def fleet(empty_fleet: Path) -> Path:
    """A fleet of one cluster with its output."""
    ignored = shutil.ignore_patterns("prod-use1*", "train-usw2*")
    for folder in ("specs", "out", "clusters"):
        shutil.copytree(ROOT / folder, empty_fleet / folder, ignore=ignored)
    return empty_fleet


def compiled(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["compile"]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
@pytest.mark.usefixtures("fleet")
def test_a_compile_that_changes_nothing_lists_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        (line,) = compiled(capsys)
        assert line.startswith("1 cluster: no findings; 0 files written")


def test_a_new_cluster_is_one_line_with_all_its_files(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("out", "clusters"):
        shutil.rmtree(fleet / folder)
    first, *_, summary = compiled(capsys)
    files = [path for folder in ("out", "clusters") for path in (fleet / folder).rglob("*") if path.is_file()]
    assert first == f"added cluster {CLUSTER}: {len(files) - 1} files and gpuc.lock"
    assert summary == f"1 cluster: no findings; {len(files)} files written, 0 removed, 0 unchanged"


def test_a_removed_cluster_is_one_line(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = fleet / SPEC
    (fleet / "specs/new-euw1.yaml").write_text(spec.read_text("utf-8").replace(CLUSTER, "new-euw1"), encoding="utf-8")
    spec.unlink()
    removed, added, *_ = compiled(capsys)
    assert removed.startswith(f"removed cluster {CLUSTER}: ") and removed.endswith(" files and gpuc.lock")
    assert added.startswith("added cluster new-euw1: ")


POOL = """
    extra-l4:
      purpose: inference
      instances: [g6.12xlarge]
      purchase: [on-demand]
      nodes: {max: 2}
      sharing: exclusive
"""


@pytest.mark.slow
def test_a_pool_that_comes_and_goes(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(fleet / SPEC, ("\n  pools:\n", f"\n  pools:{POOL}"))
    report = compiled(capsys)
    pool = report[next(n for n, line in enumerate(report) if line.startswith(f"changed cluster {CLUSTER}: ")) + 1]
    assert pool.startswith("  added    node pool extra-l4: gpu-operator/config/gpu-gate-extra-l4.yaml, ")
    edit(fleet / SPEC, (POOL, "\n"))
    edit(fleet / SPEC, ("\nspec:\n", "\nspec:\n  removed: {pools: {extra-l4: it was never used}}\n"))
    assert any(line.startswith("  removed  node pool extra-l4: ") for line in compiled(capsys))


def test_the_json_report_lists_all_files_by_subject(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(fleet / SPEC, ("\n  pools:\n", f"\n  pools:{POOL}"))
    (fleet / f"out/{CLUSTER}/tenants/retrieval.yaml").unlink()
    assert main(["compile", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (change,) = report["changes"]
    subjects = {subject["subject"]: subject for subject in change["subjects"]}
    files = [file for subject in change["subjects"] for key in ("added", "changed", "removed") for file in subject[key]]
    lock = f"out/{CLUSTER}/gpuc.lock"
    assert sorted([*files, lock]) == sorted(report["files"]["written"])
    assert change["files"] == len(files)
    assert subjects["node pool extra-l4"]["change"] == "added"
    assert subjects["tenant retrieval"]["change"] == "changed"
    assert subjects["tenant retrieval"]["added"] == [f"out/{CLUSTER}/tenants/retrieval.yaml"]


def test_the_text_report_has_a_limit() -> None:
    subjects = tuple(SubjectChange("changed", f"queue q{n}", changed=(f"out/a/q{n}.yaml",)) for n in range(40))
    shown = lines([ClusterChange("changed", "a", 40, True, subjects)])
    assert len(shown) == MAX_LINES
    assert shown[:2] == ["changed cluster a: 40 files and gpuc.lock", "  changed  queue q0: q0.yaml"]
    assert shown[-1] == "  and 22 more; --format json lists all changes"


def test_the_text_report_names_two_files_of_a_subject() -> None:
    subject = SubjectChange("changed", "policies", ("out/a/policies/n.yaml",), ("out/a/policies/c.yaml",), ("out/a/r",))
    head, line = lines([ClusterChange("changed", "a", 3, False, (subject,))])
    assert head == "changed cluster a: 3 files"
    assert line == "  changed  policies: policies/c.yaml, policies/n.yaml (added) and 1 more"
