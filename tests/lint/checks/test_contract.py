"""The contract of the checks of objects: their rules, the kinds that they read, and the lint of a difference."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.contract import EVERY_KIND, HELM_VALUES, PODS
from gpuc.diagnostics.report.examples import ids
from gpuc.lint.checks import ObjectCheck, changed_kinds, checks, findings, kinds_of
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, emitted
from gpuc.verify.references.reference import NOT_IN_THESE_FILES
from tests.conftest import EXAMPLES, ROOT, compiled_example
from tests.lanes import ci_share, some
from tests.lint.checks.changes import changed_somewhere

CHECKS = checks()
CASE_FILES = sorted((ROOT / "compiler/gpuc").rglob("*.yaml"))
NARROW = [check for check in CHECKS if check.kinds != EVERY_KIND]
_WITH_PODS = ("apps/DaemonSet", "apps/StatefulSet", "Pod")
TREES = sorted((Path(__file__).parents[1] / "trees").glob("*/*.yaml"))


def restricted(objects: ObjectSet, check: ObjectCheck) -> ObjectSet:
    """The objects that the check reads, and nothing else."""
    return ObjectSet(
        [item for item in objects.manifests if check.reads(frozenset(kinds_of(item)))],
        is_complete=objects.is_complete,
        values={chart: values for chart, values in objects.values.items() if HELM_VALUES + chart in check.kinds},
        value_files=objects.value_files,
        documents=objects.documents,
        catalog=objects.catalog,
    )


class Values(dict[str, Any]):
    """Helm values that record which charts are asked for."""

    def __init__(self, values: Mapping[str, Any], asked: set[str]) -> None:
        super().__init__(values)
        self.asked = asked

    def get(self, chart: str, default: Any = None) -> Any:
        self.asked.add(HELM_VALUES + chart)
        return super().get(chart, default)


class Recording(ObjectSet):
    """An object set that records which kinds are asked for."""

    def __init__(self, objects: ObjectSet) -> None:
        self.asked: set[str] = set()
        values = Values(objects.values, self.asked)
        super().__init__(objects.manifests, is_complete=objects.is_complete, values=values, catalog=objects.catalog)

    def of(self, api_group: str, kind: str) -> list[Manifest]:
        self.asked.add(f"{api_group}/{kind}" if api_group else kind)
        return super().of(api_group, kind)

    def find(self, api_group: str, kind: str, name: str, namespace: str = "") -> Manifest | None:
        self.asked.add(f"{api_group}/{kind}" if api_group else kind)
        return super().find(api_group, kind, name, namespace)

    def has(self, api_group: str, kind: str) -> bool:
        self.asked.add(f"{api_group}/{kind}" if api_group else kind)
        return super().has(api_group, kind)


def identities(found: Iterable[ObjectFinding]) -> list[tuple[object, ...]]:
    return [(finding.rule.id, str(finding.manifest), finding.path, finding.message, finding.fix) for finding in found]


def of_tree(file: Path, *, is_complete: bool) -> ObjectSet:
    reading = LoadedFiles()
    reading.add(file.name, file.read_text(encoding="utf-8"))
    return ObjectSet(reading.manifests, is_complete=is_complete)


@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize("file", TREES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_check_reads_the_kinds_that_it_names(file: Path, is_complete: bool) -> None:
    objects = of_tree(file, is_complete=is_complete)
    for check in NARROW:
        assert identities(check(objects)) == identities(check(restricted(objects, check))), check


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check.kinds != EVERY_KIND], ids=lambda check: check.rule.id
)
def test_a_check_asks_for_the_kinds_that_it_names(check: ObjectCheck) -> None:
    named = {*check.kinds, *_WITH_PODS} if PODS in check.kinds else set(check.kinds)
    sets = [of_tree(file, is_complete=is_complete) for file in TREES for is_complete in (True, False)]
    for objects in (*sets, *(emitted(compiled_example(cluster).artifacts) for cluster in EXAMPLES)):
        recording = Recording(objects)
        list(check(recording))
        assert {
            kind for kind in recording.asked if kind not in named and kind.rpartition("/")[0] + "/*" not in named
        } == set()


@pytest.mark.share(4)
@pytest.mark.parametrize("file", TREES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_check_finds_its_own_rules(file: Path) -> None:
    for check in CHECKS:
        for is_complete in (True, False):
            rules = {finding.rule.id for finding in check(of_tree(file, is_complete=is_complete))}
            assert rules <= {rule.id for rule in (*check.rules, NOT_IN_THESE_FILES)}, check


@cache
def findings_before(cluster: str) -> set[tuple[object, ...]]:
    """The findings of an example cluster without a change."""
    return set(identities(findings(emitted(compiled_example(cluster).artifacts))))


@pytest.mark.parametrize(
    ("cluster", "seed"),
    [
        pytest.param(cluster, seed, marks=[pytest.mark.slow] if seed or cluster != "infer-euw1" else [])
        for cluster in EXAMPLES
        for seed in ci_share(range(3), 3)
    ],
)
def test_the_lint_of_a_difference_has_the_findings_of_the_whole(cluster: str, seed: int) -> None:
    before, random = list(compiled_example(cluster).artifacts), Random(seed)
    caused = 0
    for _ in some(range(6), 3):
        after = changed_somewhere(before, random)
        whole, of_difference = (
            set(identities(findings(emitted(after), kinds))) - findings_before(cluster)
            for kinds in (None, changed_kinds(before, after))
        )
        assert of_difference == whole
        caused += len(whole)
    assert caused, "some changes have findings"


@pytest.mark.slow
@pytest.mark.parametrize("cluster", EXAMPLES)
def test_the_kinds_of_a_check_are_enough_for_a_changed_cluster(cluster: str) -> None:
    before, random = list(compiled_example(cluster).artifacts), Random(cluster)
    for _ in some(range(4), 2):
        objects = emitted(changed_somewhere(before, random))
        for check in NARROW:
            assert identities(check(objects)) == identities(check(restricted(objects, check))), check


def test_a_node_pool_does_not_run_the_checks_of_admission() -> None:
    (refused,) = [check for check in CHECKS if check.rule.id == "SCD010"]
    before = list(compiled_example("prod-use1").artifacts)
    after = [
        replace(item, labels={"a": "b"}) if isinstance(item, Manifest) and item.kind == "NodePool" else item
        for item in before
    ]
    assert changed_kinds(before, before) == frozenset()
    assert not refused.reads(changed_kinds(before, after))


def test_each_rule_of_a_check_has_a_case() -> None:
    with_example = set(ids())
    for check in CHECKS:
        for rule in check.rules:
            marks = any(f"#! {rule.id}\n" in f"{case.read_text(encoding='utf-8')}\n" for case in CASE_FILES)
            assert rule.id in with_example or marks, rule.id
