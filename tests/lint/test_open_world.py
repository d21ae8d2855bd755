"""What the input does not prove is no finding: a rule that knows less than it needs is silent, and says so."""

from collections.abc import Iterator
from functools import cache

import pytest
from msgspec.structs import replace

from gpuc.diagnostics.finding import Path, Rule
from gpuc.diagnostics.report.examples import example_of, ids
from gpuc.documents.source_map import SourceMap
from gpuc.lint import knowledge as needs
from gpuc.lint.checks import checks, findings
from gpuc.lint.knowledge import Knowledge
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify.fields.schema import RULES, schema_findings
from tests.conftest import ROOT
from tests.lanes import some

WORDS = (
    "all objects",
    "complete object",
    "complete labels",
    "complete template",
    "complete pods",
    "one cluster",
    "own project",
    "as written",
)
PATCHED = {"patches": [{"path": "a.yaml"}], "labels": [{"pairs": {"a": "b"}}]}
QUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: two}\nspec: {namespaceSelector: {}}\n"
RULES_WITH_NEEDS = sorted(
    {rule for check in checks() for rule in (*check.rules, *RULES.values()) if rule.needs}, key=str
)
OTHER_RULE = {"REF022"}
"""Rules that take the place of a milder rule: REF084, if no queue has the device of the taint."""
MANY = 60
IN_NO_EXAMPLE = {"KUE008", "QTA009", "REF013", "DLV006", "DLV007", "MON003"}
"""Rules whose examples are specs, folders or values of charts."""
PROJECT = "apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: for-all}\nspec: {}\n"


SOURCES = SourceMap()


def loaded(name: str, text: str) -> LoadedFiles:
    """The documents of a text. A dump of a cluster counts as files of a user."""
    files = LoadedFiles()
    SOURCES.add(name, text)
    files.add(name, text)
    return replace(files, live=set())


def knowledge(files: LoadedFiles, *, is_complete: bool = False) -> Knowledge:
    return Knowledge(ObjectSet(files.manifests, is_complete=False), files, SOURCES, "folder", is_complete)


@cache
def examples() -> list[tuple[LoadedFiles, list[ObjectFinding]]]:
    """The objects of all examples and sample clusters, with what the checks find in them as a part and as a whole."""
    rows = ((name, example_of(name)) for name in ids())
    texts = {name: example.bad.text for name, example in rows if example}
    folders = ("compiler/gpuc/verify", "compiler/gpuc/lint/checks/constraints", "tests/lint/trees")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.yaml")]
    texts |= {str(path): path.read_text(encoding="utf-8") for path in paths}
    return [(files, list(every_finding(files.manifests))) for files in map(loaded, texts, texts.values())]


def every_finding(manifests: list[Manifest]) -> Iterator[ObjectFinding]:
    yield from schema_findings(manifests, "1.35", as_written=True)
    for is_complete in (False, True):
        yield from findings(ObjectSet(manifests, is_complete=is_complete))


def with_less(need: str, files: LoadedFiles, finding: ObjectFinding) -> LoadedFiles:
    """Files that prove less about the same objects."""
    if need.startswith("complete"):
        return replace(
            files, kustomizations=[("kustomization.yaml", 0, {**PATCHED, "resources": [finding.manifest.file]})]
        )
    if need == "own project":
        return replace(files, manifests=[*files.manifests, *loaded("project.yaml", PROJECT).manifests])
    if need == "one cluster":
        return replace(
            files,
            manifests=[
                *files.manifests,
                *loaded("1.yaml", QUEUE).manifests,
                *loaded("2.yaml", QUEUE.replace("{}", "{a: b}")).manifests,
            ],
        )
    return files


def test_needs_are_words_of_the_engine() -> None:
    for rule in RULES_WITH_NEEDS:
        for need in rule.needs.split(", "):
            assert need in WORDS or need.startswith(needs.NAMED), rule.id


@pytest.mark.parametrize("rule", RULES_WITH_NEEDS, ids=lambda rule: rule.id)
def test_a_rule_that_knows_less_than_it_needs_is_silent(rule: Rule) -> None:
    seen = 0
    for files, found in examples():
        for finding in found:
            needed = finding.rule.needs if finding.needs is None else finding.needs
            if finding.rule.id != rule.id or not needed:
                continue
            seen += 1
            for need in needed.split(", "):
                known = knowledge(with_less(need, files, finding))
                is_near = need.startswith(needs.NAMED) and finding.fix
                assert bool(known.not_judged(finding)) != bool(is_near), (need, finding)
            assert knowledge(files, is_complete=True).not_judged(finding) == "", finding
    assert bool(seen) == (rule.id not in IN_NO_EXAMPLE)


def proven(files: LoadedFiles, found: list[ObjectFinding]) -> set[tuple[str, str, Path]]:
    """The findings that the files prove, without misspelt names: a missing object may be near another name."""
    known = knowledge(files)
    certain = (row for row in found if not known.not_judged(row) and not row.fix and row.needs != "")
    return {(row.rule.id, str(row.manifest), row.path) for row in certain}


@pytest.mark.share(2)
@pytest.mark.parametrize("part", range(8))
def test_an_object_less_makes_no_finding(part: int) -> None:
    for files, _ in examples()[part::8]:
        before = proven(files, list(findings(ObjectSet(files.manifests, is_complete=False))))
        manifests = files.manifests if len(files.manifests) < MANY else []
        for number in some(range(len(manifests)), 3):
            fewer = [*manifests[:number], *manifests[number + 1 :]]
            after = proven(files, list(findings(ObjectSet(fewer, is_complete=False))))
            assert {row for row in after - before if row[0] not in OTHER_RULE} == set(), str(manifests[number])
