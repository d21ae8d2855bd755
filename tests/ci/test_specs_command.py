"""`gpuc specs`: the clusters that a change concerns, for the matrix of a CI workflow."""

import json
import shutil
from pathlib import Path

import pytest

from gpuc.cli.main import main
from tests.plan.repository import Fleet, fleet

NAMES = ("infer-euw1", "prod-use1")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    found = fleet(tmp_path / "fleet", *NAMES)
    monkeypatch.chdir(found.root)
    return found


def write(root: Path, file: str, text: str) -> None:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text, encoding="utf-8")


def changed(capsys: pytest.CaptureFixture[str], against: str = "HEAD") -> dict[str, str]:
    assert main(["specs", "--changed", against, "--format", "json"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1, "a job output of GitHub has one line"
    return {row["name"]: row["change"] for row in json.loads(out)}


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("file", "clusters"),
    [
        ("specs/prod-use1.yaml", ["prod-use1"]),
        ("specs/base/eks.yaml", [*NAMES]),
        ("specs/base/unused.yaml", []),
        ("specs/prod-use1/manifests/quota.yaml", ["prod-use1"]),
        ("specs/prod-use10/manifests/quota.yaml", []),
        ("specs/catalog/prices.yaml", [*NAMES]),
        ("policies/image-tags/policy.yaml", [*NAMES]),
        ("policies/README.md", []),
        ("out/infer-euw1/apps/new.yaml", ["infer-euw1"]),
        ("out/infer-euw1/gpuc.lock", []),
        ("clusters/prod-use1/README.md", []),
        ("README.md", []),
    ],
)
def test_a_file_concerns_these_clusters(
    file: str, clusters: list[str], repository: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository.root / file
    kind = "\n" if path.exists() else "kind: Layer\n"
    write(repository.root, file, (path.read_text("utf-8") if path.exists() else "") + f"# new\n{kind}")
    assert changed(capsys) == dict.fromkeys(clusters, "changed")
    repository.commit()
    assert changed(capsys) == {}
    assert changed(capsys, "HEAD^1") == dict.fromkeys(clusters, "changed")


def test_a_layer_that_the_spec_no_longer_extends_counts(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    (repository.root / "specs/base/eks.yaml").unlink()
    assert changed(capsys) == dict.fromkeys(NAMES, "changed")


def test_new_and_removed_clusters(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    specs = repository.root / "specs"
    shutil.move(specs / "infer-euw1.yaml", specs / "dev-euw1.yaml")
    assert changed(capsys) == {"dev-euw1": "added"}
    assert main(["specs", "--changed", "HEAD"]) == 0
    assert capsys.readouterr().out == "dev-euw1  specs/dev-euw1.yaml  added\n"


def test_the_text_names_causes_before_effects(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    write(repository.root, "out/prod-use1/a.yaml", "a: b\n")
    write(repository.root, "out/prod-use1/b.yaml", "a: b\n")
    write(repository.root, "specs/prod-use1/manifests/a.yaml", "a: b\n")
    write(repository.root, "policies/x/policy.yaml", "a: b\n")
    (repository.root / "specs/infer-euw1.yaml").unlink()
    assert main(["specs", "--changed", "HEAD"]) == 0
    named = "specs/prod-use1/manifests/a.yaml, policies/x/policy.yaml, out/prod-use1/a.yaml and 1 more"
    assert capsys.readouterr().out == f"prod-use1  specs/prod-use1.yaml  changed: {named}\n"


def test_a_spec_that_cannot_be_read_counts_as_its_own_change(
    repository: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    write(repository.root, "specs/prod-use1.yaml", "kind: Cluster\nspec: {[\n")
    assert changed(capsys) == {"prod-use1": "changed"}


def test_a_folder_is_a_state_before_and_may_have_no_output(
    repository: Fleet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(repository.root / "specs", tmp_path / "before/specs")
    assert changed(capsys, str(tmp_path / "before")) == {}
    write(tmp_path, "before/specs/prod-use1.yaml", "kind: Cluster\n")
    assert changed(capsys, str(tmp_path / "before")) == {"prod-use1": "changed"}


def test_without_a_revision_all_clusters_are_listed(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["specs"]) == 0
    assert capsys.readouterr().out == "infer-euw1  specs/infer-euw1.yaml\nprod-use1   specs/prod-use1.yaml\n"
    assert main(["specs", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0] == {"name": "infer-euw1", "file": "specs/infer-euw1.yaml"}
    for name in NAMES:
        (repository.root / f"specs/{name}.yaml").unlink()
    assert main(["specs"]) == 0
    assert main(["specs", "--changed", "HEAD", "--format", "json"]) == 0
    assert capsys.readouterr().out == "specs/ has no clusters\n[]\n"


@pytest.mark.parametrize("revision", ["nothing", "--output=/tmp/x", "HEAD:specs"])
def test_a_wrong_revision_is_an_error_of_the_command_line(
    revision: str, repository: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["specs", f"--changed={revision}"]) == 2
    assert "is neither a folder nor a revision" in capsys.readouterr().err
    assert repository.git("status", "--porcelain") == ""
