"""Findings about references between objects in YAML texts: the files in cases/.

A file has `objects` (texts by name, in which ⟦name⟧ or ⟦name|default⟧ is a place for a value) and `cases`. A case is
`of` some of these objects: a name, or a name with the values of its places and with parts of its text that are
replaced. `partial` and `complete` are the findings in partial and in complete input, `finds` those in both: the rule,
the object, and the fix in parentheses. `only` and `without` select the rules that a file is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lint.checks.references.trees import findings, reported, tree

_PLACE = re.compile(r"⟦(\w+)(?:\|([^⟧]*))?⟧")
FILES = {
    path.stem: yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
}


def rows() -> Iterator[Any]:
    """Yields the content of the file and the case of every case, for pytest."""
    for file, content in FILES.items():
        for title, cases in content["cases"].items():
            for number, case in enumerate(cases):
                yield pytest.param(content, case, id=f"{file}: {title} {number}")


def text(template: str, changes: Mapping[str, str]) -> str:
    """Fills the places of a text, then replaces parts of it. Raises: KeyError for a place without a value."""
    defaults = {match[1]: match[2] for match in _PLACE.finditer(template)}
    values = {
        place: changes[place] if default is None else changes.get(place, default) for place, default in defaults.items()
    }
    made = _PLACE.sub(lambda match: values[match[1]], template)
    for old, new in changes.items():
        if old not in defaults:
            assert old in made, f"{old} is not in the text"
            made = made.replace(old, new)
    return made


def texts(content: Mapping[str, Any], case: Mapping[str, Any]) -> list[str]:
    """The texts of the objects of a case."""
    named = [({entry: {}} if isinstance(entry, str) else entry) for entry in case["of"]]
    return [text(content["objects"][name], changes) for entry in named for name, changes in entry.items()]


@pytest.mark.parametrize(("content", "case"), list(rows()))
def test_findings_are_those_of_the_case(content: Mapping[str, Any], case: Mapping[str, Any]) -> None:
    for key, is_complete in (("partial", False), ("complete", True), ("finds", False), ("finds", True)):
        if key in case:
            found = [
                f"{rule} {name}{f' ({fix})' if fix else ''}"
                for rule, name, fix in reported(*texts(content, case), is_complete=is_complete)
                if rule in content.get("only", [rule]) and rule not in content.get("without", [])
            ]
            assert found == case[key], f"{key}: {case.get('why', '')}"


def test_a_resource_of_some_types_only_is_reported_at_the_list_of_types() -> None:
    objects = tree(*texts(FILES["overlays"], {"of": ["pool", "overlay"]}))
    finding = next(finding for finding in findings(objects) if finding.rule.id == "REF053")
    assert finding.path == ("spec", "template", "spec", "requirements", 1, "values")
    assert finding.message.startswith(
        "overlays give nvidia.com/gpu.shared to instance type g6.2xlarge of NodePool shared, but not to g6.4x"
    )
