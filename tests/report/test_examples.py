"""The bad example of each rule has a finding of the rule, and the good example has none."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpuc.cli.main import main
from gpuc.diagnostics.finding import find_rule
from gpuc.diagnostics.report.examples import Example, Variant, example_of, ids
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


def found(example: Example, variant: Variant, folder: Path, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """The ids of all findings of one side of an example."""
    if example.place == "output":
        files = LoadedFiles()
        files.add(variant.file, variant.text)
        return {finding.rule.id for finding in check_objects(ObjectSet(files.manifests, is_complete=True))}
    if example.place in {"lint", "import"}:
        folder.mkdir()
        file = folder / "a.yaml"
        file.write_text(variant.text, encoding="utf-8")
        capsys.readouterr()
        if example.place == "import":
            main(["catalog", "import", str(file), "--source", "a test"])
            return set(re.findall(r" error ([A-Z]+\d+) ", capsys.readouterr().err))
        main(["lint", str(file), "--complete", "--format", "json"])
        return {finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    if example.place == "manifest":
        write_fleet(folder)
        write_manifest(folder, variant.file, variant.text)
    elif example.place == "catalog":
        write_fleet(folder)
        (folder / "specs/catalog").mkdir()
        (folder / "specs/catalog" / variant.file).write_text(CATALOG_HEAD + variant.text, encoding="utf-8")
    elif example.place == "policy":
        write_fleet(folder)
        (folder / "policies/team").mkdir(parents=True)
        for name, content in (POLICY_FILES | {variant.file: variant.text}).items():
            (folder / "policies/team" / name).write_text(content, encoding="utf-8")
    else:
        write_specs(example.place, variant, folder / "specs")
    outcome = check_specs(folder, None, folder, False, lambda step: None)
    assert outcome.failures == ()
    return {finding.id for finding in outcome.findings}


def write_specs(place: str, variant: Variant, folder: Path) -> None:
    """Writes the cluster case, the layers, and the file of the example."""
    texts = {file.name: file.read_text(encoding="utf-8") for file in LAYERS}
    if place == "spec":
        texts["case.yaml"] = HEAD + variant.text
    elif place == "file":
        texts["case.yaml"] = variant.text
    else:
        extended = f"training.yaml, {variant.file}" if place == "layer" else "training.yaml"
        texts |= {"case.yaml": HEAD.replace("training.yaml", extended), variant.file: variant.text}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.mark.share(12)
@pytest.mark.parametrize("id", list(ids()))
def test_only_the_bad_example_has_a_finding(id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: A002
    example = example_of(id)
    assert example is not None
    if example.note:
        return
    assert id not in found(example, example.good, tmp_path / "good", capsys)
    assert id in found(example, example.bad, tmp_path / "bad", capsys)


@pytest.mark.slow
def test_each_page_shows_a_good_and_a_bad_case() -> None:
    missing = []
    for name, rule in every_rule().items():
        words = {"before", "after", "with", "without"} if rule.level else {"good", "bad"}
        if not words <= set(re.findall(r"\w+", explain(name).casefold())):
            missing.append(name)
    assert missing == []


def test_the_rule_of_a_repeated_finding_is_found_without_the_checks() -> None:
    code = "from gpuc.diagnostics.finding import RULES, find_rule as f; print(len(RULES), f('FLT003').title, f('X'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rule = find_rule("FLT003")
    assert rule and done.stdout == f"0 {rule.title} None\n"
