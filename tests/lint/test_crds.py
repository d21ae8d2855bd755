"""`gpuc crds import` and `gpuc lint --crds`: objects of custom kinds are checked by schema and CEL rules."""

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuc.cli.main import main, run_command
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.source_map import SourceMap
from gpuc.lint.crds.schemas import crd_findings, imported_table
from gpuc.lint.crds.tables import imported_tables
from gpuc.lint.load.loaded_files import LoadedFiles
from tests.conftest import ROOT
from tests.lint.definitions import GROUP, TEXT, definition, rule
from tests.tables import table


def of_spec(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def widget(spec: Any, **more: Any) -> str:
    return yaml.safe_dump(
        {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec, **more}
    )


def imported(folder: Path, *definitions: dict[str, Any]) -> Path:
    (folder / "definitions.yaml").write_text(yaml.safe_dump_all(definitions))
    assert run_command(["crds", "import", str(folder / "definitions.yaml"), "--into", str(folder / "crds")]) == 0
    return folder / "crds"


def findings_of(folder: Path, text: str, unchecked: Counter[str] | None = None) -> list[tuple[str, int, str]]:
    """Id, line and message of every finding about the objects of a text."""
    reading, source_map = LoadedFiles(), SourceMap()
    source_map.add("a.yaml", text)
    reading.add("a.yaml", text)
    found = []
    for finding in crd_findings(folder, reading.manifests, unchecked if unchecked is not None else Counter()):
        mark = source_map.mark("a.yaml", (*finding.manifest.origin, *finding.path), finding.on_key)
        found.append((finding.rule.id, mark.line, finding.message))
    return found


@pytest.mark.slow
def test_tables_have_no_descriptions_and_imports_are_reproducible(upstream: Path, shared: Path, tmp_path: Path) -> None:
    for file in upstream.rglob("*.json"):
        assert '"description":"' not in file.read_text(), file.name
    run_command(["crds", "import", str(shared / "upstream/crds/kueue"), "--into", str(tmp_path)])
    again = sorted(tmp_path.rglob("*.json"))
    assert [file.read_bytes() for file in again] == [
        (upstream / file.relative_to(tmp_path)).read_bytes() for file in again
    ]


@pytest.mark.slow
def test_emitted_objects_have_no_findings(upstream: Path) -> None:
    unchecked: Counter[str] = Counter()
    checked = 0
    for file in sorted((ROOT / "out").rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        assert findings_of(upstream, text, unchecked) == [], file
        reading = LoadedFiles()
        reading.add(str(file), text)
        checked += sum(
            imported_table(upstream, manifest.api, manifest.kind) is not None for manifest in reading.manifests
        )
    assert unchecked == {}
    assert checked > 200


@cache
def emitted(file: str) -> str:
    return (ROOT / "out/prod-use1" / file).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "message"),
    [
        (file, row["old"], row["new"], row["line"], row["message"])
        for file, rows in table(__file__, "broken_rules.yaml").items()
        for row in rows
    ],
)
def test_a_broken_rule_is_reported_at_its_line_with_the_message_of_the_definition(
    upstream: Path, file: str, old: str, new: str, line: str, message: str
) -> None:
    text = emitted(file)
    assert old in text, "the example changed"
    broken = text.replace(old, new, 1)
    found = [finding for finding in findings_of(upstream, broken) if finding[0] == "CRD001"]
    lines = [at for _, at, text in found if text.partition(" (Key not found")[0] == message]
    assert len(lines) == 1, found
    assert line in broken.splitlines()[lines[0] - 2 : lines[0]], "a map or list begins in the line after its key"


def test_a_custom_kind_is_checked_by_its_schema(tmp_path: Path) -> None:
    size = {"type": "integer", "minimum": 1}
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name", "protocol"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "protocol": {"type": "string", "default": "TCP"}},
        },
    }
    folder = imported(tmp_path, definition(of_spec(size=size, ports=keyed)))
    assert findings_of(folder, widget({"size": 1})) == []
    assert [finding[0] for finding in findings_of(folder, widget({"size": 0}))] == ["SCH002"]
    assert [finding[0] for finding in findings_of(folder, widget({"sise": 1}))] == ["SCH001"]
    assert [finding[0] for finding in findings_of(folder, widget({"ports": [{}]}))] == ["SCH003"]
    assert findings_of(folder, widget({"ports": [{"name": "a"}, {"name": "a", "protocol": "UDP"}]})) == []
    ((_, _, text),) = findings_of(folder, widget({"ports": [{"name": "a"}, {"name": "a", "protocol": "TCP"}]}))
    assert "two items have the same name, protocol: a, TCP" in text
    assert imported_table(folder, f"{GROUP}/v1", "Gadget") is None
    assert findings_of(folder, widget({}).replace("v1", "v2")) == [], "another version is not known here"


def test_defaults_are_set_before_rules_are_evaluated(tmp_path: Path) -> None:
    inner = {"type": "object", "default": {}, "properties": {"mode": {**TEXT, "default": "Off"}}}
    spec = {"type": "object", "properties": {"inner": inner, "on": {"type": "boolean"}}}
    spec |= rule("!has(self.on) || !self.on || self.inner.mode == 'On'", "mode must be On")
    folder = imported(tmp_path, definition({"type": "object", "properties": {"spec": spec}}))
    assert findings_of(folder, widget({"on": False})) == []
    assert findings_of(folder, widget({"on": True})) == [("CRD001", 6, "mode must be On")]
    assert findings_of(folder, widget({"on": True, "inner": {"mode": "On"}})) == []
    assert findings_of(folder, widget({"on": True, "inner": {"mode": None}})) == [("CRD001", 6, "mode must be On")]


def test_field_names_are_escaped_for_cel_and_map_keys_are_not(tmp_path: Path) -> None:
    inner = {"type": "object", "additionalProperties": TEXT}
    names = {"a-b": TEXT, "c.d/e": TEXT, "namespace": TEXT, "x__y": TEXT, "map": inner}
    text = "self.a__dash__b == '1' && self.c__dot__d__slash__e == '2' && self.__namespace__ == '3'"
    text += " && self.x__underscores__y == '4' && self.map['a-b'] == '5'"
    spec = {"type": "object", "properties": names, **rule(text)}
    folder = imported(tmp_path, definition({"type": "object", "properties": {"spec": spec}}))
    good = {"a-b": "1", "c.d/e": "2", "namespace": "3", "x__y": "4", "map": {"a-b": "5"}}
    assert findings_of(folder, widget(good)) == []
    for key in good:
        wrong: Any = {"a-b": "0"} if key == "map" else "0"
        assert [finding[0] for finding in findings_of(folder, widget({**good, key: wrong}))] == ["CRD001"]


def test_rules_of_the_root_can_read_name_and_kind(tmp_path: Path) -> None:
    root = {**of_spec(), **rule("self.metadata.name == 'w' && self.kind == 'Widget' && !has(self.status)")}
    folder = imported(tmp_path, definition(root))
    assert findings_of(folder, widget({}, status={"a": 1})) == []
    assert [finding[0] for finding in findings_of(folder, widget({}).replace("name: w", "name: v"))] == ["CRD001"]


def test_findings_have_the_message_and_field_path_of_the_rule(tmp_path: Path) -> None:
    told_by = {"messageExpression": "'no ' + self.a", "fieldPath": ".a"}
    spec = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, **rule("self.a == 'x'", **told_by)}
    folder = imported(tmp_path, definition({"type": "object", "properties": {"spec": spec}}))
    text = widget({"b": "1", "a": "z"})
    ((_, line, message),) = findings_of(folder, text)
    assert (message, text.splitlines()[line - 1].strip()) == ("no z", "a: z")
    ((_, _, message),) = findings_of(folder, widget({"b": "1"}))
    assert message.startswith("refused (Key not found"), "an error of the object refuses it"


def test_transition_rules_are_not_evaluated(tmp_path: Path) -> None:
    folder = imported(tmp_path, definition(of_spec(it={**TEXT, **rule("self == oldSelf")})))
    unchecked: Counter[str] = Counter()
    assert findings_of(folder, widget({"it": "a"}), unchecked) == []
    assert unchecked == {}


def test_a_rule_that_is_not_evaluated_is_reported_as_unchecked(tmp_path: Path) -> None:
    folder = imported(tmp_path, definition(of_spec(it={**TEXT, **rule("semver(self).major() == 1")})))
    unchecked: Counter[str] = Counter()
    assert findings_of(folder, widget({"it": "1.0.0"}), unchecked) == []
    owner, why = f"{GROUP}/v1 Widget", "gpuc does not evaluate this call of the function semver"
    assert list(unchecked) == [f"a CEL rule of {owner}, semver(self).major() == 1: {why}"]


@pytest.mark.parametrize(
    "broken",
    [
        {"group": "../../etc"},
        {"group": "/etc"},
        {"names": {"kind": "../x", "plural": "x"}},
        {"names": None},
        {"versions": [{"name": "../v1", "schema": {"openAPIV3Schema": {"type": "object"}}}]},
        {"versions": [{"name": "v1"}]},
        {"versions": [None]},
        {"versions": "v1"},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": []}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": 3}}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"items": None}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"pattern": ["a"]}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"x-kubernetes-validations": [{}]}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"required": {"a": 1}}}}]},
        {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": of_spec(a={**TEXT, "pattern": "("})}}]},
    ],
)
def test_an_invalid_definition_is_reported_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: dict[str, Any]
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump(definition(of_spec(), **broken)))
    assert run_command(["crds", "import", str(file), "--into", str(tmp_path / "a/b/crds")]) == 1
    assert f"widgets.{GROUP}" in capsys.readouterr().err
    assert list(tmp_path.rglob("*.json")) == []


def test_an_endless_schema_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(80):
        schema = of_spec(it=schema)
    with pytest.raises((ValueError, RecursionError)):
        deep: dict[str, Any] = {"type": "object"}
        for _ in range(5000):
            deep = {"type": "object", "properties": {"a": deep}}
        list(imported_tables(definition(deep)))
    (tmp_path / "deep.yaml").write_text(json.dumps(definition(schema)))
    assert run_command(["crds", "import", str(tmp_path / "deep.yaml"), "--into", str(tmp_path / "crds")]) == 1
    assert "levels" in capsys.readouterr().err


def test_names_of_objects_cannot_select_a_file_outside_of_the_folder(tmp_path: Path) -> None:
    folder = imported(tmp_path, definition(of_spec()))
    for api, kind in (("../example.com/v1", "Widget"), (f"{GROUP}/v1", "../../x"), ("", ""), (f"{GROUP}/../v1", "W")):
        assert imported_table(folder, api, kind) is None
    (folder / GROUP / "Gadget_v1.json").write_text("[]")
    with pytest.raises(UsageError, match="is not a table"):
        imported_table(folder, f"{GROUP}/v1", "Gadget")


def test_dumps_of_a_cluster_lists_and_versions_that_are_not_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = [
        {"name": name, "served": served, "schema": {"openAPIV3Schema": of_spec(it=TEXT)}}
        for name, served in (("v1", True), ("v1beta1", False), ("v2", True))
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": [definition({}, versions=versions), {"kind": "ConfigMap"}]}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    words = ["import", str(tmp_path / "dump.json"), f"--into={tmp_path}/crds"]
    assert run_command(["crds", *words]) == 0
    assert sorted(file.name for file in (tmp_path / "crds").rglob("*.json")) == ["Widget_v1.json", "Widget_v2.json"]
    out = capsys.readouterr().out
    assert "2 schemas with 0 CEL rules" in out and "2 new, 0 changed" in out and "1 documents of other kinds" in out
    assert run_command(["crds", *words]) == 0
    assert "0 new, 0 changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "missing: import, FILE|DIR"),
        (["imports", "a"], "did you mean import"),
        (["import"], "missing: FILE|DIR"),
        (["import", "nowhere"], "no file nowhere"),
        (["import", "a", "--inot", "b"], "did you mean --into"),
        (["import", "."], "no CustomResourceDefinition in ."),
    ],
)
def test_invalid_arguments_are_reported(
    words: list[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=text):
        run_command(["crds", *words])


def test_lint_uses_the_imported_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = {"type": "integer", **rule("self > 1", "size must be above 1")}
    (tmp_path / "definition.yaml").write_text(yaml.safe_dump(definition(of_spec(size=size))))
    (tmp_path / "widget.yaml").write_text(widget({"size": 1}))
    words = ["lint", str(tmp_path / "widget.yaml"), "--format", "json"]
    assert main(words) == 0
    assert "no schema" in str(json.loads(capsys.readouterr().out)["unchecked"])
    assert main(["crds", "import", str(tmp_path / "definition.yaml"), "--into", str(tmp_path / "crds")]) == 0
    capsys.readouterr()
    assert main([*words, "--crds", str(tmp_path / "crds")]) == 1
    report = json.loads(capsys.readouterr().out)
    (one,) = report["findings"]
    assert (one["id"], one["line"], report["unchecked"]) == ("CRD001", 6, [])
    assert one["message"].endswith("spec.size: size must be above 1")
