"""Every check of `gpuc compile` has a case file, and reports exactly the marked lines of the file."""

import re
from pathlib import Path

import pytest

from gpuc import isolation, verify
from gpuc.documents.source_map import SourceMap
from gpuc.emit.emitters import emit
from gpuc.lint.checks import constraints as constraints_topic
from gpuc.lint.checks.constraints import constraints
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Values
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.subject import Subject
from tests.conftest import example

FOLDER = Path(verify.__file__).parent
ISOLATION = sorted(Path(isolation.__file__).parent.glob("*.yaml"))
CONSTRAINT_FILES = Path(str(constraints_topic.__file__)).parent.glob("*.yaml")
CONSTRAINTS = sorted(path for path in CONSTRAINT_FILES if "#! " in path.read_text())
CASES = sorted([*FOLDER.glob("*/*.yaml"), *(path for path in ISOLATION if "#! " in path.read_text()), *CONSTRAINTS])
MARK = re.compile(r"#! (\w+)$", re.MULTILINE)
CHART = re.compile(r"^# Values of the chart (\S+)$", re.MULTILINE)


def subject(file: str, text: str) -> Subject:
    """The objects and values of a case file. The first line names the chart of a map that is not an object."""
    reading = LoadedFiles()
    reading.add(file, text)
    assert not reading.findings
    charts = CHART.findall(text)
    pods = {values.component: values.pods for values in emit(example("prod-use1")) if isinstance(values, Values)}
    values = tuple(
        Values(file, (index,), charts[0], data, pods=pods.get(charts[0], {})) for _, index, data in reading.other_maps
    )
    return Subject(ObjectSet(reading.manifests, is_complete=True), "1.35", dict.fromkeys(charts), values)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_findings_are_at_their_marks(case: Path) -> None:
    text, source_map = case.read_text(), SourceMap()
    source_map.add(case.name, text)
    found = set()
    checked = subject(case.name, text)
    for finding in constraints.findings(checked.objects) if case in CONSTRAINTS else verify.findings(checked):
        mark = source_map.mark(case.name, (*finding.manifest.origin, *finding.path), finding.on_key)
        found.add((mark.line, finding.rule.id))
    wanted = {(number, mark[1]) for number, line in enumerate(text.splitlines(), 1) if (mark := MARK.search(line))}
    assert found == wanted
    assert len({id_ for _, id_ in wanted}) == 1


def test_every_rule_has_a_case() -> None:
    """The case file of a check with one rule has the name of the check."""
    cases, of_several = {}, set()
    for check in verify.CHECKS.discover():
        assert all(rule.title.endswith(".") and rule.why.endswith(".") for rule in check.rules)
        if len(check.rules) > 1:
            of_several |= {rule.id for rule in check.rules}
            continue
        topic = check.find.__module__.split(".")[2]
        cases[FOLDER / topic / f"{check.find.__name__}.yaml"] = check.rule.id
    marked = {case: MARK.search(case.read_text())[1] for case in CASES}  # type: ignore[index]
    assert cases.items() <= marked.items()
    assert of_several <= set(marked.values())
    others = {case for case in marked if case.parent.parent == FOLDER} - cases.keys()
    assert {marked[case] for case in others} <= of_several
