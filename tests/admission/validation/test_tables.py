"""The language of the tables of rows."""

import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import gpuc
from gpuc.admission.validation import all_tables
from gpuc.admission.validation.all_tables import tables
from gpuc.admission.validation.changes import ChangedField, refused_changes
from gpuc.admission.validation.field import Field
from gpuc.admission.validation.table import Tables
from tests.admission.validation.bases import BASES

ROWS = """
# a comment
[pod]
name           required: every pod has one | DNS label
a/b            missing if no this and c
limits{}       1 to 3
"x.y/z"        one of on off when mode = strict|loose
ports          unique name: two ports have the name {name}
ports[]        port

[port, same port] webhook of ports
number         must be 80 or 443, missing as ""
protocol       if this = UDP and pod:mode != loose: {this} needs the mode loose,
               not {pod} => write TCP
"""


def _problems(tmp_path: Path, value: object) -> list[tuple[object, ...]]:
    file = tmp_path / "a.rows"
    file.write_text(ROWS, encoding="utf-8")
    found = Tables([file], {}).problems("pod", Field((), value))
    return [(problem.field, problem.check, problem.message.partition(":")[0], problem.fix) for problem in found]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "a"}, []),
        ({}, [(("name",), "API server", "the required field name is missing", "")]),
        ({"name": "A"}, [(("name",), "API server", 'name is "A"; expected a DNS label', "write a")]),
        ({"name": "a", "c": 1}, [(("a", "b"), "API server", "the required field b is missing", "")]),
        (
            {"name": "a", "limits": {"k": 4}},
            [(("limits", "k"), "API server", "k is 4; expected a number from 1 to 3", "")],
        ),
        ({"name": "a", "x.y/z": "offf"}, []),
        (
            {"name": "a", "x.y/z": "offf", "mode": "loose"},
            [(("x.y/z",), "API server", 'x.y/z is "offf"; expected on or off', "write off")],
        ),
        (
            {"name": "a", "ports": [{"number": "80", "name": "p"}, {"number": "80", "name": "p"}]},
            [(("ports", 1, "name"), "API server", "two ports have the name p", "")],
        ),
        (
            {"name": "a", "ports": [{}]},
            [(("ports", 0, "number"), "webhook of ports", 'number is ""; expected 80 or 443', "")],
        ),
        (
            {"name": "a", "mode": "x", "ports": [{"number": "80", "protocol": "UDP"}]},
            [(("ports", 0, "protocol"), "webhook of ports", "UDP needs the mode loose, not ", "write TCP")],
        ),
        ("no structure", [(("name",), "API server", "the required field name is missing", "")]),
    ],
)
def test_a_table_finds(tmp_path: Path, value: object, expected: list[object]) -> None:
    assert _problems(tmp_path, value) == expected


def test_an_unknown_constraint_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.rows"
    file.write_text("[pod]\nname  DNS lable\n", encoding="utf-8")
    with pytest.raises(ValueError, match="DNS lable"):
        Tables([file], {}).problems("pod", Field((), {}))


def test_the_name_of_a_function_can_begin_like_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "a.rows"
    file.write_text("[pod]\nname  default name\n", encoding="utf-8")
    (problem,) = Tables([file], {"default name": lambda name: [name.problem("called")]}).problems(
        "pod", Field((), {"name": "a"})
    )
    assert (problem.field, problem.message) == (("name",), "called")


def test_two_tables_with_the_same_name_are_an_error(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.rows").write_text(f"[{name}, pod]\nname  DNS label\n", encoding="utf-8")
    with pytest.raises(ValueError, match='two tables have the name "pod"'):
        Tables(sorted(tmp_path.iterdir()), {})


def test_two_functions_with_the_same_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("gpuc.workloads.a.checks")

    def same(field: Field) -> None: ...

    same.__module__ = module.__name__
    monkeypatch.setattr(module, "_sysctls_of_host", same, raising=False)
    monkeypatch.setattr(all_tables, "family_modules", lambda _: iter((module,)))
    with pytest.raises(ValueError, match=r"pods and gpuc\.workloads\.a\.checks have the function"):
        tables.__wrapped__()


class NoChange:
    """A change of an object without fields."""

    fields: tuple[ChangedField, ...] = ()

    def changes(self, *prefix: str | int) -> bool:
        return False

    def values(self, *path: str | int) -> tuple[object, object]:
        return None, None


def test_all_rows_are_read() -> None:
    for table in tables():
        if table.startswith("changes of "):
            list(refused_changes(table.removeprefix("changes of "), NoChange()))
        else:
            tables().problems(table, Field((), {"kind": "PyTorchJob"}))
    kinds = {f"{base['apiVersion'].rpartition('/')[0]}/{base['kind']}" for base in BASES.values()}
    assert kinds <= set(tables())


def test_all_fields_of_a_step_are_lists_or_none_is() -> None:
    files = sorted(Path(gpuc.__file__).parent.rglob("*.rows"))
    paths = [line.split("  ")[0] for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    steps = [step for path in paths if "," in path for step in path.split(".")]
    assert files and steps
    assert [step for step in steps if len({field.endswith("[]") for field in step.split(",")}) > 1] == []


def test_no_family_replaces_a_table_or_a_function_of_another() -> None:
    folder = Path(gpuc.__file__).parent
    rows, modules = (
        folder.rglob("*.rows"),
        (*folder.glob("admission/validation/*.py"), *folder.glob("workloads/*/checks.py")),
    )
    headings = [re.findall(r"^\[(.+)\]", file.read_text(encoding="utf-8"), re.MULTILINE) for file in rows]
    tables_of_files = Counter(table for found in headings for heading in found for table in heading.split(", "))
    functions = Counter(
        name for file in modules for name in re.findall(r"^def (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert [name for name, count in (*tables_of_files.items(), *functions.items()) if count > 1] == []
