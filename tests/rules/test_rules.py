"""Every rule has a case file with specs that pass and specs with findings at exactly the marked lines.

A case file contains specs, separated by `---`. Each spec extends an archetype and contains only the differences. A line
that ends with `#! ID` must get exactly one finding, with this id. Other lines must get none, and so must a spec without
such a line. If lines have `#~ ID`, the findings with this id name exactly these lines of the spec as related.
"""

import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpuc import rules
from gpuc.catalog import Catalog, load
from gpuc.diagnostics.contract import Check
from gpuc.diagnostics.finding import RULES as DECLARED
from gpuc.diagnostics.finding import DeclarationError, Finding, Severity, StageError, declare_rule, rule_rows
from gpuc.diagnostics.report.explain import every_rule
from gpuc.diagnostics.suppressions import UNUSED, accepts, apply_acceptances, unaccepted
from gpuc.model import resolve
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.other_clusters import OtherClusters
from gpuc.pipeline.result_cache import ResultCache
from gpuc.source import Source, cluster_files, read
from gpuc.spec.parse import parse

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "compiler/gpuc"
ARCHETYPES = sorted((PACKAGE / "rules/archetypes").glob("*.yaml"))
CASES = sorted(file for file in PACKAGE.glob("**/rules/**/*.yaml") if "archetypes" not in file.parts)
RESOLVE = sorted((ROOT / "compiler/gpuc/model/resolve").glob("*.yaml"))
"""Cases of the rules that `resolve` checks before a cluster exists."""
CASE = "specs/case.yaml"
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: case}\n"
OTHER = """apiVersion: gpuc.dev/v1alpha1
kind: Cluster
metadata: {name: other}
extends: [training.yaml]
spec:
  cloud: {aws: {eksCluster: other, interruptionQueue: other}}
  delivery: {destination: {server: null, name: other}}
  pools: {train: {eks: {reservations: {ids: [cr-0fedcba9876543210]}}}}
  tenants:
    red:
      network:
        egress:
          - {cidr: 10.60.0.0/24, ports: [5432], why: databases}
          - {cidrs: [172.16.0.0/12, 198.18.7.0/24, 140.82.112.0/20], ports: [22], why: data centre and sources}
      namespaces:
        red-main:
          exposed: {hosts: [red.example.com]}
          serviceAccounts: {trainer: {role: "arn:aws:iam::111122223333:role/red-trainer"}}
"""
"""The other cluster of the fleet, with which the rules of the topic fleet compare a case."""
MARK = re.compile(r"#! (\w+)$", re.MULTILINE)
RELATED = re.compile(r"#~ (\w+)")


def specs(file: Path) -> list[str]:
    return [HEAD + text for text in re.split(r"^---\n", file.read_text(), flags=re.MULTILINE)]


CHECKS: list[Check[Any, Any]] = [*rules.RULES.discover(), *rules.FLEET_RULES.discover()]


def case_of(check: Check[Any, Any]) -> Path:
    return PACKAGE.joinpath(*check.find.__module__.split(".")[1:-1], f"{check.find.__name__}.yaml")


@dataclass(frozen=True)
class Fleet:
    """A folder with the archetypes, their facts and another cluster, into which each case is written."""

    root: Path
    catalog: Catalog
    others: OtherClusters

    def check(self, text: str) -> tuple[Source, list[Finding]]:
        """The source of a case, and its findings without the accepted ones."""
        (self.root / CASE).write_text(text)
        source = read(self.root, CASE)
        try:
            spec = parse(source)
            cluster = resolve(spec, source.file, self.catalog)
        except StageError as stop:
            return source, list(stop.findings)
        return source, apply_acceptances([*self.others.findings(spec, source), *rules.check(cluster)], source.tree)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    root = tmp_path_factory.mktemp("fleet")
    shutil.copytree(PACKAGE / "rules/archetypes", root / "specs")
    (root / "specs/other.yaml").write_text(OTHER)
    others = OtherClusters()
    others.add_unnamed(root, cluster_files(root), [CASE], ResultCache(None, is_read=False))
    return Fleet(root, fleet_catalog(root).catalog, others)


@pytest.mark.parametrize("file", CASES + RESOLVE, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_findings_and_related_places_are_at_their_marks(file: Path, fleet: Fleet) -> None:
    for text in specs(file):
        source, findings = fleet.check(text)
        lines = list(enumerate(text.splitlines(), 1))
        expected = [(CASE, number, mark[1]) for number, line in lines if (mark := MARK.search(line))]
        marks = [(source.locate(finding.path, finding.on_key), finding.id) for finding in findings]
        assert sorted((mark.file, mark.line, id_) for mark, id_ in marks) == expected, (text, findings)
        places = [(finding.id, place) for finding in findings for place in source.located(finding).related]
        assert [place for _, place in places if place.path not in source.marks and place.path != ()] == [], text
        related = {(number, id_) for number, line in lines for id_ in RELATED.findall(line)}
        found = {(place.mark.line, id_) for id_, place in places if place.mark and place.mark.file == source.file}
        assert {mark for mark in found if mark[1] in RELATED.findall(text)} == related, text


@pytest.mark.share(8)
@pytest.mark.parametrize("file", CASES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_an_accepted_finding_is_not_reported(file: Path, fleet: Fleet) -> None:
    """An entry in `accept` that matches no finding would be a finding itself."""
    for text in specs(file):
        if MARK.search(text) and "accept:" not in text:
            ids = sorted(set(MARK.findall(text)))
            accepts = "".join(f"    {id_}: known\n" for id_ in ids)
            _, findings = fleet.check(re.sub(r"^spec:\n", f"spec:\n  accept:\n{accepts}", text, flags=re.MULTILINE))
            assert findings == [], text


@pytest.mark.parametrize("file", cluster_files(ROOT))
def test_committed_specs_are_clean(file: str) -> None:
    source = read(ROOT, file)
    assert apply_acceptances(rules.check(resolve(parse(source), file, load())), source.tree) == []


def test_every_rule_has_a_case_and_every_case_a_rule() -> None:
    assert {case_of(check) for check in CHECKS} == set(CASES)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.rule.id)
def test_a_rule_has_a_title_a_reason_and_a_case(check: Check[Any, Any]) -> None:
    """The docstring of the function is the title, and the case file of its name has only this id."""
    assert check.rule.title.endswith(".")
    assert check.rule.why.endswith(".")
    case = case_of(check).read_text()
    (id_,) = set(MARK.findall(case))
    assert id_ == check.rule.id
    assert any(not MARK.search(spec) for spec in case.split("---\n")), "no good spec in the case file"


def test_an_id_that_two_modules_declare_is_named_with_both() -> None:
    assert "EFA005" in DECLARED
    expected = f"^EFA005 is declared in gpuc.substrates.eks.efa.rules.efa_pools and in {__name__}$"
    with pytest.raises(DeclarationError, match=expected):
        declare_rule("EFA005", Severity.ERROR, "A rule.")


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("rules.toml")), ids=lambda file: file.parent.name)
def test_every_row_of_a_table_of_rules_is_declared(file: Path) -> None:
    table = tomllib.loads(file.read_text())
    assert table.keys() <= every_rule().keys()
    assert list(table) == sorted(table)
    assert rule_rows(str(file.parent)) == table


def test_an_acceptance_is_found_at_each_path_where_a_finding_is_accepted() -> None:
    accepted = {"accept": {"ACC001": "known"}}
    tree = {"spec": {"pools": {"a": accepted, "b": {}}, "list": [{}, accepted], "charts": {"c": {"values": accepted}}}}
    paths = [
        (*path, *more)
        for path in (("spec", "pools", "a"), ("spec", "pools", "b"), ("spec", "list", 0), ("spec", "list", 1),
                     ("spec", "list", 2), ("spec", "charts", "c", "values"), ("spec", "accept"), ())
        for more in ((), ("nodes", "max"), (0,), ("accept", "ACC001"))
    ]  # fmt: skip
    found = [path for path in paths if accepts(tree, path, "ACC001")]
    assert found == [path for path in paths if not unaccepted([UNUSED.at(path, "message")], tree)]
    assert len(found) == 8
