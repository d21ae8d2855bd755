"""Mistakes in `kubectl` commands are found."""

from __future__ import annotations

import shlex

import pytest

from tests.readme.jsonpath import column_paths, template_paths
from tests.readme.kubectl import kubectl_problems
from tests.tables import table

_TABLE = table(__file__, "cases.yaml")


@pytest.mark.parametrize("command", _TABLE["kubectl correct"])
def test_a_correct_command_has_no_problem(command: str) -> None:
    assert list(kubectl_problems(shlex.split(command))) == []


@pytest.mark.parametrize("command", _TABLE["kubectl wrong"])
def test_a_wrong_command_has_a_problem(command: str) -> None:
    found = list(kubectl_problems(shlex.split(command)))
    assert any(_TABLE["kubectl wrong"][command] in problem for problem in found), found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}', ""),
        ('{"apiVersion": "v1", "kind": "Namespac", "metadata": {"name": "a"}}', "v1 has no kind Namespac"),
        ('{"kind": "Namespace"}', "needs apiVersion, kind and metadata"),
        ('{"kind": ', "is not YAML"),
        ("", "without an object"),
    ],
)
def test_the_standard_input_has_objects(text: str, problem: str) -> None:
    found = list(kubectl_problems(["apply", "-f", "-"], text))
    assert problem in found[0] if problem else found == []


def test_templates_name_the_fields() -> None:
    template = '{range .items[?(@.status.nodeName=="N")]}{.metadata.name}{"\\n"}{end}'
    assert template_paths(template) == [
        ("items", "*", "status", "nodeName"),
        ("items", "*"),
        ("items", "*", "metadata", "name"),
    ]
    assert column_paths(r"A:.metadata.labels.a\.b/c,B:.x[?(@.type=='T')].y") == [
        ("metadata", "labels", "a.b/c"),
        ("x", "*", "type"),
        ("x", "*", "y"),
    ]
