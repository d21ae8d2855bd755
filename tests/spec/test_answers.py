"""Complete answers to wrong keys, types and values: position, message and fix, one finding for each mistake.

tests/messages/breaks.yaml has the answers of `gpuc check` to further mistakes.
"""

from pathlib import Path

import pytest
import yaml

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.source import read
from gpuc.spec.base import SpecModel
from gpuc.spec.parse import parse
from tests.conftest import REFERENCE, ROOT
from tests.tables import table

FILE = "specs/orion.yaml"
TEXT, LAYER = ((ROOT / file).read_text(encoding="utf-8") for file in (REFERENCE, "specs/base/eks.yaml"))
CASES = table(__file__, "answers.yaml")
SPEC: str = CASES["spec"]
LONG = [
    ("image: al2023@v20260815", f"userData: {'x' * 16_385}\n      image: al2023@v20260815",
     "SPC004 cloud.aws.userData has length 16385; expected at most 16384"),
    ("sharing: {timeSlicing: {replicas: 4}}", f"annotations: {{a: {16384 * 'b'}}}",
     "SPC004 pools.dev-l4.annotations is 16385 bytes; expected at most 16384 bytes of keys and values"),
]  # fmt: skip


def found(root: Path, text: str, file: str = FILE, layer: str = LAYER) -> list[Finding]:
    """The findings of parsing a spec, located in its files."""
    (root / "specs/base").mkdir(parents=True)
    (root / "specs/base/eks.yaml").write_text(layer, encoding="utf-8")
    (root / file).write_text(text, encoding="utf-8")
    source = read(root, file)
    with pytest.raises(StageError) as stop:
        parse(source)
    return [source.located(finding) for finding in stop.value.findings]


def answers(findings: list[Finding]) -> list[tuple[str, str]]:
    """The findings as line, column, id and message, with their fixes."""
    return [
        (f"{finding.mark.line}:{finding.mark.column} {finding.id} {finding.message}", finding.fix)
        for finding in findings
        if finding.mark
    ]


@pytest.mark.parametrize("case", CASES["answers"], ids=lambda case: case["answer"][:60])
def test_one_mistake_has_one_complete_answer(tmp_path: Path, case: dict[str, str]) -> None:
    assert case["old"] in SPEC
    found_here = answers(found(tmp_path, SPEC.replace(case["old"], case["new"], 1)))
    assert found_here == [(case["answer"], case.get("fix", ""))]


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("old", "new", "answer", "fix"),
    [*((row["old"], row["new"], row["answer"], row.get("fix", "")) for row in CASES["of_the_reference"]),
     *((*row, "") for row in LONG)],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_a_wrong_key_or_value_is_reported_at_its_line(
    tmp_path: Path, old: str, new: str, answer: str, fix: str
) -> None:
    assert old in TEXT
    (finding,) = found(tmp_path, TEXT.replace(old, new, 1), REFERENCE)
    assert (f"{finding.id} {finding.message}", finding.fix) == (answer, fix)
    line = TEXT[: TEXT.index(old.strip())].count("\n") + 1
    assert finding.mark and (finding.mark.file, finding.mark.line) == (REFERENCE, line)


def test_all_findings_are_reported_together(tmp_path: Path) -> None:
    text = TEXT.replace("nodes: {max: 16}", "nodes: {maxx: 16}", 1).replace("weight: 2", "weight: two", 1)
    findings = found(tmp_path, text.replace("isolation: network", "isolation: none", 1), REFERENCE)
    assert {finding.id for finding in findings} >= {"SPC001", "SPC003", "SPC004"}
    assert len({finding.mark for finding in findings}) == len(findings)


@pytest.mark.parametrize(
    ("old", "new", "at", "id_", "message"),
    [
        ("prune: confirm", "prune: always", "always", "SPC004", "delivery.prune"),
        ("server: https://kubernetes.default.svc, ", "server: https://kubernetes.default.svc, name: hub, ",
         "destination:", "SPC005", "server and name"),
        ("server: https://kubernetes.default.svc, ", "", "destination:", "SPC005", "server and name"),
    ],
)  # fmt: skip
def test_a_finding_in_a_layer_points_at_the_layer(
    tmp_path: Path, old: str, new: str, at: str, id_: str, message: str
) -> None:
    layer = LAYER.replace(old, new)
    (finding,) = found(tmp_path, TEXT, REFERENCE, layer)
    assert finding.mark and (finding.id, finding.mark.file) == (id_, "specs/base/eks.yaml")
    assert layer.splitlines()[finding.mark.line - 1][finding.mark.column - 1 :].startswith(at)
    assert message in finding.message


def test_a_fix_never_names_a_key_that_the_map_has(tmp_path: Path) -> None:
    text = SPEC.replace("    train:\n", "    CPU:\n").replace("{max: 2}", "{max: 2, maxx: 2}")
    findings = found(tmp_path, text)
    assert {finding.fix for finding in findings} == {""}
    assert sorted(
        (place.message, place.mark.line, place.mark.column)
        for finding in findings
        for place in finding.related
        if place.mark
    ) == [("the key cpu of pools", 25, 5), ("the key max", 37, 15)]


def test_two_unknown_keys_are_not_renamed_to_the_same_key(tmp_path: Path) -> None:
    text = SPEC.replace("      purpose: training", "      purpse: training\n      purpos: training")
    assert [fix for _, fix in answers(found(tmp_path, text)) if fix] == ["rename key purpse to purpose"]


def subclasses(model: type[SpecModel]) -> set[type[SpecModel]]:
    return {model}.union(*(subclasses(below) for below in model.__subclasses__()))


def test_the_maps_in_messages_are_valid() -> None:
    shown = [model for model in subclasses(SpecModel) if model.in_messages]
    assert len(shown) > 30
    for model in shown:
        model.model_validate(yaml.safe_load(model.in_messages))
