"""The bad example of each rule has a finding of the rule, and the good example has none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.report.examples import Example, example_of, ids
from gpuc.diagnostics.report.explain import every_rule, explain
from gpuc.lint.checks import findings as check_objects
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_set import ObjectSet
from gpuc.pipeline.pipeline import check_specs
from tests.conftest import ROOT
from tests.extra.fleet import write_fleet, write_manifest

LAYERS = sorted((ROOT / "compiler/gpuc/rules/archetypes").glob("*.yaml"))
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: case}\nextends: [training.yaml]\n"
CATALOG_HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Catalog\n"
POLICY = """\
title: Pods have a team
why: Costs are shared by team.
subject: pod
validations:
  - expression: '"team" in object.metadata.?labels.orValue({})'
    message: set the label team
"""
PODS = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {%s: search}}\n"
POLICY_FILES = {"policy.yaml": POLICY, "allowed.yaml": PODS % "team", "denied.yaml": PODS % "app"}
SHOWN = [rule for rule in ids() if (example := example_of(rule)) is not None and not example.note]


def found(example: Example, text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The ids of all findings of an example text."""
    folder.mkdir()
    if example.place == "output":
        files = LoadedFiles()
        files.add(example.file, text)
        return {finding.rule.id for finding in check_objects(ObjectSet(files.manifests, is_complete=True))}
    if example.place == "lint":
        (folder / "a.yaml").write_text(text, encoding="utf-8")
        main(["lint", str(folder / "a.yaml"), "--format", "json"])
        return {finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    (folder / "specs").mkdir()
    if example.place == "manifest":
        write_fleet(folder)
        write_manifest(folder, example.file, text)
    elif example.place == "catalog":
        write_fleet(folder)
        (folder / "specs/catalog").mkdir()
        (folder / "specs/catalog" / example.file).write_text(CATALOG_HEAD + text, encoding="utf-8")
    elif example.place == "policy":
        write_fleet(folder)
        (folder / "policies/team").mkdir(parents=True)
        for file, content in (POLICY_FILES | {example.file: text}).items():
            (folder / "policies/team" / file).write_text(content, encoding="utf-8")
    else:
        for layer in LAYERS:
            (folder / "specs" / layer.name).write_text(layer.read_text(encoding="utf-8"), encoding="utf-8")
        text = HEAD + text if example.place == "spec" else text
        (folder / "specs/case.yaml").write_text(text, encoding="utf-8")
    outcome = check_specs(folder, None, folder, False, lambda step: None)
    assert outcome.failures == ()
    return {finding.id for finding in outcome.findings}


@pytest.mark.parametrize("id", SHOWN)
def test_only_the_bad_example_has_a_finding(id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: A002
    example = example_of(id)
    assert example is not None
    assert id not in found(example, example.good, tmp_path / "good", capsys)
    assert id in found(example, example.bad, tmp_path / "bad", capsys)


def test_each_page_shows_a_good_and_a_bad_case() -> None:
    missing = [
        rule for rule in every_rule() if not {"good", "bad"} <= set(re.findall(r"\w+", explain(rule).casefold()))
    ]
    assert missing == []
