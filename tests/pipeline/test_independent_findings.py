"""A spec with two mistakes: an error of one stage does not hide the error of another, and causes no finding there."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpuc.catalog import load
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.independent_findings import Inputs, independent_findings
from gpuc.source import Source, read
from gpuc.spec.parse import parse
from tests.conftest import EXAMPLES
from tests.pipeline.memory import source as example

ROOT = Path(__file__).parents[2]
RULES = ROOT / "compiler/gpuc/rules"
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: case}\n"
INPUTS = Inputs(FleetPolicies({}), load())
PAIRS = 400
Tree = dict[str, Any]


@cache
def cases(folder: Path) -> list[Source]:
    """The merged specs of the case files of all rules: correct specs, and specs with a mistake that a rule reports."""
    (folder / "specs").mkdir()
    for file in (RULES / "archetypes").glob("*.yaml"):
        (folder / "specs" / file.name).write_text(file.read_text())
    found = []
    for file in sorted(RULES.glob("*/*.yaml")):
        for text in re.split(r"^---\n", file.read_text(), flags=re.MULTILINE) if file.parent.name != "archetypes" else ():
            (folder / "specs/case.yaml").write_text(HEAD + text)
            found.append(read(folder, "specs/case.yaml"))
    return found


def walk(node: Any, path: SpecPath = ()) -> Iterator[tuple[SpecPath, Any]]:
    yield path, node
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, child in children:
        yield from walk(child, (*path, step))


def wrong_type(parent: Any, step: Any) -> None:
    parent[step] = {"nowhere": 1} if not isinstance(parent[step], dict) else "nowhere"


def misspelt_key(parent: Any, step: Any) -> None:
    if isinstance(step, str):
        parent[f"{step}x"] = parent.pop(step)


def missing_key(parent: Any, step: Any) -> None:
    del parent[step]


def second_unit(parent: Any, step: Any) -> None:
    if isinstance(parent, dict):
        parent["static"] = parent["nodes"] = parent["alias"] = 3


def unknown_name(parent: Any, step: Any) -> None:
    if isinstance(parent[step], str):
        parent[step] = "nowhere"
    elif isinstance(step, str):
        parent["nowhere"] = parent.pop(step)


SHAPE = (wrong_type, misspelt_key, missing_key, second_unit)


def with_mistake(source: Source, plant: Callable[[Any, Any], None], chance: random.Random) -> tuple[Source, SpecPath]:
    """A copy of a spec with one more mistake."""
    tree = copy.deepcopy(source.tree)
    path = chance.choice([path for path, _ in walk(tree["spec"], ("spec",)) if len(path) > 1])
    parent: Any = tree
    for step in path[:-1]:
        parent = parent[step]
    plant(parent, path[-1])
    return replace(source, tree=tree, raw={}), path


def keys(findings: list[Finding]) -> set[tuple[str, SpecPath, str]]:
    return {(finding.id, finding.path, finding.message) for finding in findings}


def shape(source: Source) -> list[Finding]:
    try:
        parse(source)
    except StageError as error:
        return list(error.findings)
    return []
