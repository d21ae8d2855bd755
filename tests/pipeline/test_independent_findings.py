"""A spec with two mistakes: an error of one stage does not hide the error of another, and causes no finding there."""

import copy
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.catalog import load
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.independent_findings import Inputs, independent_findings
from gpuc.pipeline.pipeline import check_specs
from gpuc.source import Source, read
from gpuc.spec.parse import parse
from tests.conftest import EXAMPLES, ROOT, edit
from tests.lanes import reduced
from tests.pipeline.memory import source as example
from tests.values import value_at, walk

PACKAGE = ROOT / "compiler/gpuc"
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: case}\n"
INPUTS = Inputs(FleetPolicies({}), load())
PAIRS = reduced(100)
Tree = dict[str, Any]


@cache
def cases(folder: Path) -> list[Source]:
    """The merged specs of the case files of all rules: correct specs, and specs with a mistake that a rule reports."""
    (folder / "specs").mkdir()
    for file in (PACKAGE / "rules/archetypes").glob("*.yaml"):
        (folder / "specs" / file.name).write_text(file.read_text())
    found = []
    for file in sorted(PACKAGE.glob("**/rules/**/*.yaml")):
        for text in re.split(r"^---\n", file.read_text(), flags=re.MULTILINE) if "archetypes" not in file.parts else ():
            (folder / "specs/case.yaml").write_text(HEAD + text)
            found.append(read(folder, "specs/case.yaml"))
    return found


def wrong_type(parent: Any, step: Any) -> None:
    parent[step] = {"nowhere": 1} if not isinstance(parent[step], dict) else "nowhere"


def misspelt_key(parent: Any, step: Any) -> None:
    parent[f"{step}x"] = parent.pop(step)


def missing_key(parent: Any, step: Any) -> None:
    del parent[step]


def second_unit(parent: Any, step: Any) -> None:
    other = {"max": "static", "nodes": "shares", "every": "gpus"}[step]
    parent[other] = 3


def other_name(parent: Any, step: Any) -> None:
    if not isinstance(parent[step], str):
        raise KeyError(step)
    parent[step] = "nowhere"


SHAPE = (wrong_type, misspelt_key, missing_key, second_unit)
NAMES = ("VER003", "KRP130", "KRP101", "KRP018", "MIG001", "MIG101", "KUE101", "KUE102", "KUE103")
"""The rules of the stage that resolves names."""


def with_mistake(source: Source, plant: Callable[[Any, Any], None], chance: random.Random) -> Source | None:
    """A copy of a spec with one more mistake, or None if the mistake is impossible at the place."""
    tree = copy.deepcopy(source.tree)
    path = chance.choice([path for path, _ in walk(tree["spec"], ("spec",)) if len(path) > 1])
    try:
        plant(value_at(tree, path[:-1]), path[-1])
    except (KeyError, TypeError):
        return None
    return replace(source, tree=tree, raw={})


def keys(findings: list[Finding]) -> set[tuple[str, SpecPath, str]]:
    return {(finding.id, finding.path, finding.message) for finding in findings}


def shape(source: Source) -> list[Finding]:
    try:
        parse(source)
    except StageError as error:
        return list(error.findings)
    return []


def pairs(
    folder: Path, plants: tuple[Callable[[Any, Any], None], ...], number: int = PAIRS
) -> Iterator[tuple[Source, Source]]:
    """Specs with at most one mistake, and the same specs with one more mistake."""
    chance = random.Random(19)
    sources = [*cases(folder), *map(example, EXAMPLES)]
    for _ in range(number):
        first = chance.choice(sources)
        two = with_mistake(first, chance.choice(plants), chance)
        if two is not None:
            yield first, two


@pytest.mark.slow
def test_a_wrong_key_or_type_causes_no_finding_of_a_later_stage(tmp_path: Path) -> None:
    """When the user corrects the key or type, no finding disappears. Most findings appear with the first mistake."""
    both = single = 0
    for first, two in pairs(tmp_path, SHAPE):
        of_shape = keys(shape(two))
        if not of_shape:
            continue
        alone, together = keys(independent_findings(first, INPUTS)), keys(independent_findings(two, INPUTS))
        assert of_shape <= together
        assert together - of_shape <= alone
        both += bool(together & alone)
        single += not together & alone and bool(alone)
    assert both > single


@pytest.mark.slow
def test_a_wrong_name_causes_no_finding_of_a_rule(tmp_path: Path) -> None:
    both = 0
    for first, two in pairs(tmp_path, (other_name,), 8 * PAIRS):  # few places have a name
        if shape(two):
            continue
        alone, together = keys(independent_findings(first, INPUTS)), keys(independent_findings(two, INPUTS))
        of_names = {found for found in together - alone if found[0] in NAMES}
        if of_names:
            assert together - of_names <= alone
            both += bool(together & alone)
    assert both > 0


def found(root: Path) -> list[tuple[str, str]]:
    """The rule and the path of each finding about the spec of production, in the order of the report."""
    outcome = check_specs(root, ["specs/prod-use1.yaml"], root, False, lambda step: None)
    return [(finding.id, ".".join(map(str, finding.path[1:]))) for finding in outcome.findings]


NODE_LOCAL_DNS = ("nodeLocalDns: true", "nodeLocalDns: yes")
LIFETIME = ("expireAfter: 720h", "expireAfter: 720")
INSTANCE = ("[p4d.24xlarge]", "[p4d.24xlage]")
EGRESS = ("cidr: 10.30.0.0/24", "cidr: 10.0.64.0/24")


def test_mistakes_of_four_stages_are_reported_in_one_run(fleet: Path) -> None:
    edit(fleet / "specs/prod-use1.yaml", NODE_LOCAL_DNS, LIFETIME, INSTANCE, EGRESS)
    egress = "tenants.search.network.egress.1.cidr"
    assert found(fleet) == [
        ("YAML007", ""),
        ("SPC003", "pools.general.eks.expireAfter"),
        ("KRP130", "pools.batch-a100.instances.0"),
        ("NET002", egress),
    ]


def test_a_mistake_in_the_yaml_text_is_no_second_mistake_in_the_type(fleet: Path) -> None:
    edit(fleet / "specs/prod-use1.yaml", ("nodes: {max: 16}", "nodes: {max: 0o20}"), INSTANCE)
    assert [id_ for id_, _ in found(fleet)] == ["YAML008", "KRP130"]


def test_a_layer_with_a_mistake_does_not_hide_the_mistakes_of_the_spec(fleet: Path) -> None:
    edit(fleet / "specs/base/eks.yaml", ("prune: confirm", "prune: off"))
    edit(fleet / "specs/prod-use1.yaml", LIFETIME, INSTANCE)
    assert [id_ for id_, _ in found(fleet)] == ["YAML007", "SPC003", "KRP130"]


def test_what_a_missing_layer_may_contain_is_not_reported(fleet: Path) -> None:
    edit(fleet / "specs/prod-use1.yaml", ("base/eks.yaml", "base/other.yaml"), INSTANCE)
    assert [id_ for id_, _ in found(fleet)] == ["LAY003"]


def test_mistakes_in_policies_do_not_hide_mistakes_in_names(fleet: Path) -> None:
    (fleet / "policies/team").mkdir(parents=True)
    (fleet / "policies/team/policy.yaml").write_text("title: 1\n")
    edit(fleet / "specs/prod-use1.yaml", INSTANCE, EGRESS)
    assert {"KRP130", "NET002"} < {id_ for id_, _ in found(fleet)}


def test_an_accepted_finding_is_accepted_in_a_spec_with_errors(fleet: Path) -> None:
    accept = ("      network:\n        egress:", "      accept: {NET002: known}\n      network:\n        egress:")
    edit(fleet / "specs/prod-use1.yaml", LIFETIME, EGRESS, accept)
    assert [id_ for id_, _ in found(fleet)] == ["SPC003"]
