"""`gpuc plan` and `gpuc diff` as a user runs them."""

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpuc.cli.main import main
from gpuc.plan.report.json_report import json_schema
from tests.plan.repository import Fleet, fleet

Plan = Callable[..., tuple[int, Any]]
"""The exit code and the JSON report, which is valid against its schema: `plan(*words)` or `plan("diff", *words)`."""
GROW = ("nodes: {max: 16}", "nodes: {max: 20}")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    found = fleet(tmp_path / "fleet")
    monkeypatch.chdir(found.root)
    return found


@pytest.fixture
def plan(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> Plan:
    def run(*words: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = main([*(words if words[:1] == ("diff",) else ("plan", "--against", "HEAD", *words)), "--format", "json"])
        document = json.loads(capsys.readouterr().out)
        Draft202012Validator(json_schema()).validate(document)
        return code, document

    return run


def test_a_fleet_without_a_change_has_no_impacts(repository: Fleet, plan: Plan) -> None:
    code, document = plan("--fail-on", "none")
    assert code == 0
    assert document["impacts"] == []
    assert [cluster["objects"] for cluster in document["clusters"]] == [[]]


def test_a_larger_pool_is_planned_at_its_line(repository: Fleet, plan: Plan) -> None:
    repository.replace(*GROW)
    lines = (repository.root / "specs/prod-use1.yaml").read_text().splitlines()
    files = repository.git("status", "--porcelain")
    code, document = plan()
    assert (code, repository.git("status", "--porcelain")) == (0, files)
    of_nodes = [impact for impact in document["impacts"] if impact["path"] == "spec.pools.train-h100.nodes.max"]
    assert of_nodes
    for impact in of_nodes:
        assert impact["subject"] == "node pool train-h100"
        assert "nodes: {max: 20}" in lines[impact["line"] - 1]
    (cluster,) = document["clusters"]
    assert "node pool train-h100 grows from 16 to 20 nodes" in cluster["summary"]
    fields = {
        (changed["kind"], field["field"]): (field["before"], field["after"])
        for changed in cluster["objects"]
        for field in changed["fields"]
    }
    assert fields["NodePool", "spec.limits.nodes"] == ("16", "20")


@pytest.mark.slow
def test_fail_on_counts_more_dangerous_levels_and_not_accepted_impacts(repository: Fleet, plan: Plan) -> None:
    eks = "\n      eks:\n        reservations"
    repository.replace(f"[p5.48xlarge]{eks}", f"[p5en.48xlarge]{eks}")
    repository.replace("image: al2023@v20260815", "image: al2023@v20260801")
    code, document = plan()
    levels = {impact["level"] for impact in document["impacts"]}
    assert code == 0
    assert "disrupts" in levels
    assert plan("--fail-on", "disrupts")[0] == 1
    assert plan("--fail-on", "none")[0] == 1
    ids = {impact["id"] for impact in document["impacts"] if impact["level"] in ("destroys", "disrupts")}
    accepted = "".join(f"    {name}: agreed on the channel\n" for name in sorted(ids))
    repository.replace("spec:\n  environment", f"spec:\n  accept:\n{accepted}  environment")
    code, document = plan("--fail-on", "disrupts")
    assert code == 0
    assert {impact["accepted"] for impact in document["impacts"] if impact["id"] in ids} == {"agreed on the channel"}


@pytest.mark.slow
def test_an_acceptance_that_is_no_longer_needed_is_a_finding(repository: Fleet, plan: Plan) -> None:
    repository.replace("spec:\n  environment", "spec:\n  accept: {IMP199: agreed}\n  environment")
    code, document = plan()
    (finding,) = document["clusters"][0]["findings"]
    assert (code, finding["id"], finding["line"]) == (0, "ACC002", 9)
    assert plan("--strict")[0] == 1
    assert main(["check", "--strict"]) == 0, "check does not know the state before"


def test_a_spec_with_errors_has_findings_and_no_plan(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    repository.replace("instances: [p4d.24xlarge]", "instances: [p4x.24xlarge]")
    assert main(["plan", "--against", "HEAD"]) == 1
    assert "specs/prod-use1.yaml:" in capsys.readouterr().out
    file = repository.root / "plan.json"
    code = main(["plan", "--against", "HEAD", "--format", "json", "--output", f"json={file}"])
    document = json.loads(capsys.readouterr().out)
    found = [(finding["id"], finding["file"]) for finding in document["findings"]]
    assert (code, found, file.exists()) == (1, [("KRP130", "specs/prod-use1.yaml")], False)


def test_a_removed_cluster_is_planned_by_its_name(repository: Fleet, plan: Plan) -> None:
    spec = repository.root / "specs/prod-use1.yaml"
    spec.rename(spec.with_name("other.yaml"))
    _, document = plan("prod-use1")
    assert [cluster["summary"][0] for cluster in document["clusters"]] == ["cluster prod-use1 is removed"]
    assert main(["plan", "--against", "HEAD", "no-such-cluster"]) == 2


LOCK = "out/prod-use1/gpuc.lock"
POOL = "out/prod-use1/karpenter/pools/train-h100.yaml"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefghi")
)


@pytest.mark.share(4)
@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (LOCK, "<<<<<<< HEAD\n{}\n", f"{LOCK} has an unresolved Git conflict"),
        (LOCK, '{"gpuc": "", "cdk8s": "", "files": []}', f"{LOCK} was not written by gpuc"),
        (LOCK, '{"gpuc": "", "cdk8s": "", "files": {"out/prod-use1/a.yaml": "x"}}', f"{LOCK} was not written by gpuc"),
        (LOCK, '{"gpuc": "", "cdk8s": "", "files": {}}', f"{LOCK} lists no file that exists"),
        (POOL, "spec: [", f"{POOL}:2:1: not YAML"),
        (POOL, BOMB, f"{POOL}:6:36: the aliases of this document expand to more than 1000000 values"),
        (POOL, "- a\n", f"{POOL} has a document that is not a map"),
        (POOL, "kind: NodePool\n", f"{POOL} has a document that is not a Kubernetes object"),
    ],
)
def test_a_state_before_that_cannot_be_read_is_not_a_new_cluster(
    file: str, text: str, message: str, repository: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.root / file).write_text(text)
    repository.commit()
    assert main(["plan", "--against", "HEAD", "--fail-on", "disrupts"]) == 2
    assert f"the state before cannot be read: {message}" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["out", "out/prod-use1", LOCK, POOL])
def test_a_link_in_the_state_before_is_not_a_new_cluster(
    path: str, repository: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    before = repository.root.parent / "before"
    shutil.copytree(repository.root, before)
    (before / path).rename(before / "elsewhere")
    (before / path).symlink_to(before / "elsewhere")
    assert main(["plan", "--against", str(before), "--fail-on", "disrupts"]) == 2
    assert f"the state before cannot be read: {path} is a link" in capsys.readouterr().err


def test_dates_in_the_state_before_are_text(repository: Fleet, plan: Plan) -> None:
    text = (repository.root / POOL).read_text()
    start = "spec:\n  disruption:"
    assert start in text
    (repository.root / POOL).write_text(
        text.replace(start, "spec:\n  from: 2026-08-01\n  to: 2026-13-45\n  disruption:")
    )
    repository.commit()
    _, document = plan()
    fields = {
        field["field"]: field["before"] for changed in document["clusters"][0]["objects"] for field in changed["fields"]
    }
    assert (fields["spec.from"], fields["spec.to"]) == ("2026-08-01", "2026-13-45")


def test_a_spec_of_an_older_language_is_compared_by_its_objects(repository: Fleet, plan: Plan) -> None:
    spec = repository.root / "specs/prod-use1.yaml"
    text = spec.read_text()
    spec.write_text(text.replace("  environment: prod ", "  surroundings: prod "))
    repository.commit("As an older gpuc")
    spec.write_text(text.replace(*GROW))
    _, document = plan()
    (cluster,) = document["clusters"]
    assert "cannot compile the spec of the state before" in cluster["notes"][0]
    assert ("NodePool", "train-h100") in {(changed["kind"], changed["name"]) for changed in cluster["objects"]}


@pytest.mark.slow
def test_diff_compares_folders_without_a_spec(repository: Fleet, plan: Plan) -> None:
    old = repository.root.parent / "old"
    shutil.copytree(repository.root / "out/prod-use1", old)
    repository.replace(*GROW)
    assert main(["compile", "--quiet"]) == 0
    code, document = plan("diff", str(old), "out/prod-use1")
    (cluster,) = document["clusters"]
    changed = [(changed["change"], changed["kind"], changed["name"]) for changed in cluster["objects"]]
    assert (code, changed) == (0, [("changed", "NodePool", "train-h100")])
    assert {impact["file"] for impact in document["impacts"]} == {POOL}


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_diff_shows_no_values_of_secrets(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: a}\nstringData: {token: hidden-%s}\n---\n"
    for name, texts in (("old", (("changed", "1"), ("removed", "2"))), ("new", (("changed", "3"), ("added", "4")))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.yaml").write_text("".join(secret % text for text in texts))
    assert main(["diff", str(tmp_path / "old"), str(tmp_path / "new"), "--format", form]) == 0
    printed = capsys.readouterr().out
    assert "hidden" not in printed
    assert all(name in printed for name in ("changed", "removed", "added", "token", "not shown"))


def test_diff_of_a_missing_folder_is_a_usage_error(repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "missing", "out"]) == 2
    assert "missing" in capsys.readouterr().err


@pytest.mark.share(2)
@pytest.mark.parametrize("text", ["", "spec: ["])
def test_diff_with_a_side_without_objects_is_a_usage_error(
    text: str, repository: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository.root / "new.yaml"
    file.write_text(text)
    for sides in (("out", str(file)), (str(file), "out")):
        assert main(["diff", *sides, "--fail-on", "disrupts"]) == 2
        error = capsys.readouterr().err
        assert f"{file} has no Kubernetes objects" in error
        assert ("not YAML" in error) == bool(text)


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_diff_reports_what_it_cannot_read(form: str, repository: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = repository.root / "old.yaml", repository.root / "new.yaml"
    old.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    new.write_text(f"{old.read_text()}---\nspec: [")
    assert main(["diff", str(old), str(new), "--format", form]) == 0
    assert "this part of the file is ignored" in capsys.readouterr().out


@pytest.mark.slow
def test_a_renamed_cluster_keeps_its_nodes(repository: Fleet, plan: Plan) -> None:
    repository.replace("name: prod-use1\n", "name: prod-use9\n")
    specs = repository.root / "specs"
    (specs / "prod-use1.yaml").rename(specs / "prod-use9.yaml")
    code, document = plan()
    assert code == 0
    assert [cluster["summary"] for cluster in document["clusters"]] == [
        ["cluster prod-use1 is renamed to prod-use9"]
    ] * 2
    (removed,) = [impact for impact in document["impacts"] if impact["id"] == "IMP508"]
    (added,) = [impact for impact in document["impacts"] if impact["id"] == "IMP520"]
    assert "is cluster prod-use9 from now on" in removed["message"]
    assert not any("delete nodepools" in sentence for sentence in removed["details"])
    assert "is the new name of cluster prod-use1" in added["message"]
