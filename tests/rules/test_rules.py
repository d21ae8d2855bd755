"""Every rule has a case file that shows it: what passes, and what is found at exactly the marked line.

A case file holds specs, divided by `---`. Each extends an archetype and says only what differs. A line that ends with
`#! ID` has to get exactly the finding ID, and no other line any; a spec without a mark is a good one.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from gpuc import rules
from gpuc.catalog import load
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.diagnostics.suppressions import apply_acceptances
from gpuc.model import resolve
from gpuc.source import Source, cluster_files, read
from gpuc.spec.parse import parse

ROOT = Path(__file__).parents[2]
RULES = ROOT / "compiler/gpuc/rules"
ARCHETYPES = sorted((RULES / "archetypes").glob("*.yaml"))
CASES = sorted(file for file in RULES.glob("*/*.yaml") if file.parent.name != "archetypes")
RESOLVE = sorted((ROOT / "compiler/gpuc/model/resolve").glob("*.yaml"))
"""Cases of what resolve finds, before there is a cluster for rules."""
MODULES = sorted(file for file in RULES.glob("*/*.py") if not file.name.startswith("_"))
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: case}\n"
MARK = re.compile(r"#! (\w+)$", re.MULTILINE)


def specs(files: list[Path]) -> list[ParameterSet]:
    return [
        pytest.param(HEAD + text, id=f"{file.parent.name}/{file.stem}-{number}")
        for file in files
        for number, text in enumerate(re.split(r"^---\n", file.read_text(), flags=re.MULTILINE))
    ]


SPECS = specs(CASES)
BAD = [spec for spec in SPECS if MARK.search(str(spec.values[0])) and "accept:" not in str(spec.values[0])]

rules.RULES.discover()


def judged(folder: Path, text: str) -> tuple[Source, list[Finding]]:
    """The one cluster of a fleet, and what the rules say of it that it does not accept."""
    (folder / "specs").mkdir()
    for file in ARCHETYPES:
        (folder / "specs" / file.name).write_text(file.read_text())
    (folder / "specs/case.yaml").write_text(text)
    source = read(folder, "specs/case.yaml")
    try:
        cluster = resolve(parse(source), source.file, load())
    except StageError as stop:
        return source, list(stop.findings)
    return source, apply_acceptances(rules.check(cluster), source.tree)


@pytest.mark.parametrize("text", SPECS + specs(RESOLVE))
def test_findings_stand_at_their_marks(text: str, tmp_path: Path) -> None:
    source, findings = judged(tmp_path, text)
    lines = enumerate(text.splitlines(), 1)
    wanted = [("specs/case.yaml", number, found[1]) for number, line in lines if (found := MARK.search(line))]
    marks = [(source.locate(finding.path), finding.id) for finding in findings]
    assert sorted((mark.file, mark.line, id_) for mark, id_ in marks) == wanted, findings


@pytest.mark.parametrize("text", BAD)
def test_a_reason_silences(text: str, tmp_path: Path) -> None:
    """And it is used: an acceptance that silences nothing would be a finding itself."""
    reasons = "".join(f"    {id_}: known\n" for id_ in sorted(set(MARK.findall(text))))
    _, findings = judged(tmp_path, re.sub(r"^spec:\n", f"spec:\n  accept:\n{reasons}", text, flags=re.MULTILINE))
    assert findings == []


@pytest.mark.parametrize("file", cluster_files(ROOT))
def test_committed_specs_are_clean(file: str) -> None:
    source = read(ROOT, file)
    assert rules.check(resolve(parse(source), file, load())) == []


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    def names(files: list[Path]) -> list[str]:
        return [f"{file.parent.name}/{file.stem}" for file in files]

    assert names(CASES) == names(MODULES)


@pytest.mark.parametrize("module", MODULES, ids=lambda file: file.stem)
def test_a_rule_is_named_told_and_shown(module: Path) -> None:
    """The function is called like its file; its docstring has a title and a reason; its case shows its id alone."""
    text = importlib.import_module(f"gpuc.rules.{module.parent.name}.{module.stem}")
    fault = getattr(text, module.stem).rule
    assert fault.title.endswith(".")
    assert fault.why.endswith(".")
    case = module.with_suffix(".yaml").read_text()
    (id_,) = set(MARK.findall(case))
    assert id_ == fault.id
    assert any(not MARK.search(spec) for spec in case.split("---\n")), "no good spec in the case file"
