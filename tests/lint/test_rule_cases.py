"""CEL rules of imported CRDs: lint has the result of the API server, or reports that it cannot evaluate the rule."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpuc.cli.main import run_command
from gpuc.lint.crds.schemas import crd_findings
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_finding import ObjectFinding
from tests.conftest import ROOT
from tests.lint.definitions import GROUP, TEXT, Case, definition, fields, rule
from tests.lint.rule_cases import CASES, OF_ERRORS


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of all cases. The kind of a case has the number of the case."""
    folder = tmp_path_factory.mktemp("cases")
    made = [definition(fields({"it": case.schema}), f"Case{number}") for number, case in enumerate(CASES)]
    (folder / "definitions.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    assert run_command(["crds", "import", str(folder / "definitions.json"), "--into", str(folder / "crds")]) == 0
    return folder / "crds"


def findings_of(tables: Path, kind: str, value: Any) -> tuple[list[ObjectFinding], Counter[str]]:
    """The findings about an object, and the sentences about rules that could not be evaluated."""
    document = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "w"}, "it": value}
    reading, unchecked = LoadedFiles(), Counter[str]()
    reading.add("a.json", json.dumps(document))
    return list(crd_findings(tables, reading.manifests, unchecked)), unchecked


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=[case.name for case in CASES])
def test_every_value_has_the_result_of_the_api_server(tables: Path, number: int, case: Case) -> None:
    kind = f"Case{number}"
    for value in case.good:
        assert findings_of(tables, kind, value) == ([], Counter()), value
    for value in case.bad:
        findings, unchecked = findings_of(tables, kind, value)
        assert {finding.rule.id for finding in findings} == {"CRD001"}, value
        assert unchecked == {}, value
    for value, _ in case.unsure:
        findings, unchecked = findings_of(tables, kind, value)
        assert findings == [], value
        assert unchecked, value


def test_a_function_that_is_not_evaluated_is_named_when_it_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [definition(fields({"it": case.schema}), f"Case{number}") for number, case in enumerate(OF_ERRORS)]
    (tmp_path / "definitions.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))
    assert run_command(["crds", "import", str(tmp_path / "definitions.json"), "--into", str(tmp_path / "crds")]) == 0
    out = capsys.readouterr().out
    assert "lint will not evaluate 5 of the rules:" in out
    for name in ("all", "isSemver", "format.dns1123Label", "sets.contains", "isIP"):
        assert f": gpuc does not evaluate this call of the function {name}\n" in out


def test_a_function_that_is_not_evaluated_for_some_values_is_named_with_the_object(tables: Path) -> None:
    number = next(index for index, case in enumerate(CASES) if case.name == "where a list has it")
    _, unchecked = findings_of(tables, f"Case{number}", ["a"])
    (sentence,) = unchecked
    assert sentence.startswith(f"a CEL rule of Case{number} w at it, ") and "(list).indexOf" in sentence


def test_findings_have_the_path_of_the_servers_error(tables: Path) -> None:
    places = {"path and reason": ("it", "a.b"), "path of fields": ("it", "a", "b"), "item of a map list": ("it", 1)}
    for number, case in enumerate(CASES):
        if case.name in places:
            findings, _ = findings_of(tables, f"Case{number}", case.bad[0])
            assert [finding.path for finding in findings] == [places[case.name]], case.name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("message of an expression", "no y"),
        ("message that fails", "refused"),
        ("message of two lines", "refused"),
        ("no message", "failed rule: self == 'a'"),
    ],
)
def test_messages_are_those_of_the_server(tables: Path, name: str, message: str) -> None:
    number = next(index for index, case in enumerate(CASES) if case.name == name)
    findings, _ = findings_of(tables, f"Case{number}", CASES[number].bad[0])
    assert [finding.message for finding in findings] == [message]


@pytest.mark.parametrize("value", [2**70, -(2**70), float("inf"), float("nan"), "\ud800", [[]] * 3, {"": None}])
def test_unusual_values_do_not_raise(tables: Path, value: Any) -> None:
    from gpuc.lint.crds.cel_rules import broken_rules
    from gpuc.manifest.manifest import Manifest

    one = Manifest("a.yaml", (0,), f"{GROUP}/v1", "Odd", "w", body={"it": value})
    rules = {"properties": {"it": {"rules": [{"rule": "self == 1 || self.a.b[3] > 'x' || self.find('(') == ''"}]}}}
    unchecked: Counter[str] = Counter()
    found = list(broken_rules(one, {"type": "object"}, rules, {}, unchecked))
    assert len(found) + sum(unchecked.values()) == 1


def test_a_text_that_cannot_be_converted_is_reported_as_unchecked(tmp_path: Path) -> None:
    span = {**TEXT, "format": "duration", **rule("self != duration('1s')")}
    (tmp_path / "definition.json").write_text(json.dumps(definition(fields({"it": span}))))
    assert run_command(["crds", "import", str(tmp_path / "definition.json"), "--into", str(tmp_path / "crds")]) == 0
    findings, unchecked = findings_of(tmp_path / "crds", "Widget", "2 weeks")
    assert findings == []
    assert list(unchecked) == ['the CEL rules of Widget w: gpuc cannot convert the duration "2 weeks"']


@pytest.mark.slow
def test_the_cel_engine_is_not_loaded_without_tables(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    script = f"""
import sys
from gpuc.cli.main import main
main(["lint", {str(tmp_path)!r}])
print(sorted(name for name in sys.modules if name in ("cel_expr_python", "re2")))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"
