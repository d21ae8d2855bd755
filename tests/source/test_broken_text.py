"""Broken texts: the finding is at the mistake, names the cause, and has the fix that is certain."""

import pathlib
import re

import pytest

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.source import cluster_files, read
from gpuc.source.document import compose
from gpuc.source.foreign import objects_in_specs
from gpuc.spec.parse import parse
from tests.source.test_source import HEAD, LAYER, errors_of, write_specs
from tests.tables import table

ROOT = pathlib.Path(__file__).parents[2]
REFERENCE = (ROOT / "specs/prod-use1.yaml").read_text()

EDITS = table(__file__, "broken_text.yaml")


def place_of(text: str, marked: str) -> tuple[int, int]:
    before, after = marked.split(">", 1)
    assert before + after in text
    start = text.index(before + after) + len(before)
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


@pytest.mark.parametrize("case", EDITS)
def test_the_first_finding_is_at_the_mistake_and_has_no_words_of_the_parser(case: str) -> None:
    edit = EDITS[case]
    text = REFERENCE.replace(edit["old"], edit["new"], 1)
    assert text != REFERENCE
    _, (finding, *others) = compose(text, "f.yaml")
    assert finding.mark and finding.is_error
    assert (finding.mark.line, finding.mark.column) == place_of(text, edit["at"]), finding
    assert (finding.message, finding.fix) == (edit["message"], edit.get("fix", ""))
    messages = " ".join(found.message for found in (finding, *others))
    assert not re.search(r"<block|'\?'|scanning|token|mapping values", messages)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('a:\n  - "x\n  - "y"\n', 2, 5),
        ('a:\n  - name: "x\n    other: "y"\n', 2, 11),
        ("a: {b: \"x, c: \"y\"}\n", 1, 8),
        ("a: {b: \"x,\n    c: \"y\"}\n", 1, 8),
        ("a: |\n  \"not a quote\nb: 'x\n", 3, 4),
        ("a: it's\nb: say \"x\nc: 'y\n", 3, 4),
        ("a: \"x # no comment\nb: 1\n", 1, 4),
        ("a: 'b # '' \nc: 1\n", 1, 4),
        ('a: "b\n  c"\nd: "e\nf: 1\n', 3, 4),
        ("a: [b, # ]\n  c\nd: 1\n", 1, 4),
        ("a:\n  b: [\n    {c: d,\n  e: f\n", 3, 5),
        ("a: >-\n  [x\nb: {c: [1, 2}\n", 3, 8),
        ('a: "b\r\nc: "d"\r\n', 1, 4),
        ("a:\n  - b c\n    d: 1\n", 2, 5),
        ('a:\n  "b: 1\n  c: "d"\n', 2, 3),
        ('a: b  # c\n  "d: "e"\n', 2, 3),
        ("a:\n  - b >-\n      text\n    d: 1\n", 2, 5),
    ],
)  # fmt: skip
def test_a_missing_sign_is_found_at_its_position(text: str, line: int, column: int) -> None:
    _, findings = compose(text, "f.yaml")
    assert [(found.id, found.mark and (found.mark.line, found.mark.column)) for found in findings] == [
        ("YAML001", (line, column))
    ]


@pytest.mark.parametrize(
    "line",
    ["runs {longest: 72h, checkpointEvery: 30m}", "members {groups: [a], role: edit}", "nodes {max: 8}"],
)
def test_a_colon_that_is_missing_before_a_bracket_is_named(line: str) -> None:
    key = line.split(maxsplit=1)[0]
    _, findings = compose(f"pools:\n  a:\n    purpose: training\n    {line}\n    fabric: efa\n", "f.yaml")
    assert [(found.message, found.fix, str(found.mark)) for found in findings] == [
        (f"the colon after {key} is missing", f"add a colon after {key}", "f.yaml:4:5")
    ]


def test_the_place_where_the_parser_stopped_is_related() -> None:
    _, (finding,) = compose('a: "b\nc: d\ne: "f"\n', "f.yaml")
    assert [(place.message, str(place.mark)) for place in finding.related] == [
        ("the YAML parser stops here", "f.yaml:3:5")
    ]


def test_the_neighbours_of_a_wrong_indentation_are_related() -> None:
    _, (finding,) = compose("a:\n  b:\n      c: 1\n    # x\n    d: 1\n", "f.yaml")
    assert [(place.message, str(place.mark)) for place in finding.related] == [
        ("b is indented by 2 spaces", "f.yaml:2:3"), ("c is indented by 6 spaces", "f.yaml:3:7"),
    ]  # fmt: skip


def test_the_first_of_two_equal_keys_is_related() -> None:
    _, (finding,) = compose("a: 1\nb: 2\na: 3\n", "f.yaml")
    assert (finding.message, str(finding.mark)) == ("the map already has the key a", "f.yaml:3:1")
    assert [(place.message, str(place.mark)) for place in finding.related] == [("first defined here", "f.yaml:1:1")]


def test_findings_about_text_after_an_open_bracket_are_left_out() -> None:
    _, findings = compose("a: no\nb: [1, {2: no,\nc: on\nd: 1\n", "f.yaml")
    assert [(found.id, str(found.mark)) for found in findings] == [("YAML007", "f.yaml:1:4"), ("YAML001", "f.yaml:2:8")]


@pytest.mark.parametrize(
    "text",
    [
        "why: see “limits” of the team", "why: “limits” are low", "why: as in “limits”", "why: the teams\u2019",
        "why: the team\u2019s", "why: '“x”'", 'why: "“x”"', "why: |\n  “x”", "why: 5 \u00a0 6", "why: 10\u00a0GB",
        "why: say 'x'", "why: don't", "why: '\u00a0x'", "why: it is 'x", 'why: 3 x "b"',
    ],
)  # fmt: skip
def test_quotation_marks_and_spaces_inside_a_text_are_allowed(text: str) -> None:
    node, findings = compose(f"{text}\n", "f.yaml")
    assert node and not findings


CONFLICT = """\
apiVersion: gpuc.dev/v1alpha1
kind: Layer
spec:
<<<<<<< HEAD
  kubernetes: "1.35"
||||||| base
  kubernetes: "1.34"
=======
  kubernetes: "1.36"
>>>>>>> upgrade
  environment: prod
<<<<<<< HEAD
  a: [1,
=======
>>>>>>> upgrade
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_git_conflict_is_one_finding_at_its_first_marker(tmp_path: pathlib.Path, ending: str) -> None:
    root = write_specs(tmp_path, a=HEAD + "extends: [b.yaml]\n", b=CONFLICT.replace("\n", ending))
    (finding,) = errors_of(root)
    assert (finding.id, str(finding.mark)) == ("YAML023", "specs/b.yaml:4:1")
    assert finding.message == "the file has an unresolved Git conflict, which begins here"
    assert finding.fix.startswith("keep the lines of one side, or combine both sides")
    assert [(place.message, place.mark and place.mark.line) for place in finding.related] == [
        ("the lines before both changes begin here", 6), ("the lines of the other side begin here", 8),
        ("the conflict ends here", 10), ("another conflict begins here", 12),
        ("the lines of the other side begin here", 14), ("the conflict ends here", 15),
    ]  # fmt: skip


def test_text_that_resembles_a_conflict_is_no_conflict() -> None:
    node, findings = compose("a: |\n  <<<<<<< HEAD\n  =======\nb: ======= x\n", "f.yaml")
    assert node and not findings


def test_an_invisible_character_has_its_name(tmp_path: pathlib.Path) -> None:
    (finding,) = errors_of(write_specs(tmp_path, a=HEAD + "x: a\u200bb\n"))
    assert (finding.message, finding.fix) == ("the character U+200B (zero width space) is invisible", "remove U+200B")


def only(findings: tuple[Finding, ...]) -> tuple[str, str, str, str]:
    (finding,) = findings
    assert finding.mark
    return finding.id, f"{finding.mark.line}:{finding.mark.column}", finding.message, finding.fix


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("YAML012", "1:1", "the file is empty",
              "write apiVersion, kind, metadata and spec; `gpuc init` in an empty folder writes an example")),
        (HEAD.replace("Cluster", "cluster"),
         ("LAY005", "2:7", "the kind is cluster; expected Cluster", "write kind: Cluster")),
        (HEAD.replace("Cluster", "Clutser"),
         ("LAY005", "2:7", "the kind is Clutser; expected Cluster", "write kind: Cluster")),
        (HEAD.replace("Cluster", "Policy"), ("LAY005", "2:7", "the kind is Policy; expected Cluster", "")),
        (LAYER, ("LAY005", "2:7",
                 "the file is a Layer, which gpuc compiles only as part of a cluster; expected a Cluster", "")),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n",
         ("LAY005", "2:7", "the file is a Kubernetes Pod; expected a spec with kind: Cluster",
          "move the file to specs/<cluster>/manifests/")),
        (HEAD + "extends: [base/esk.yaml]\n",
         ("LAY003", "4:11", "specs/base/esk.yaml does not exist", "replace base/esk.yaml by base/eks.yaml")),
        (HEAD + "extends: [zzz.yaml]\n",
         ("LAY003", "4:11", "specs/zzz.yaml does not exist; existing: base/eks.yaml, old.yaml", "")),
        (HEAD + "extends: [old.yaml]\n",
         ("LAY006", "1:1", "the layer has no apiVersion; expected gpuc.dev/v1alpha1",
          "add apiVersion: gpuc.dev/v1alpha1")),
        (HEAD + "extends: [typo.yaml]\n",
         ("LAY005", "2:7", "the kind is layer; expected Layer", "write kind: Layer")),
        (HEAD + "spec: {isolation:dedicated, x: 1}\n",
         ("YAML021", "4:8", "a space is missing after the colon of isolation",
          "write isolation: dedicated")),
        (HEAD + "spec: {nodes 5, x: 1}\n", ("YAML021", "4:8", "nodes has no colon", "write nodes: 5")),
    ],
)  # fmt: skip
def test_a_file_of_the_wrong_kind_has_a_plain_finding(
    tmp_path: pathlib.Path, text: str, expected: tuple[str, str, str, str]
) -> None:
    root = write_specs(
        tmp_path, a=text, base__eks=LAYER, old="kind: Layer\n", typo=LAYER.replace("Layer", "layer"), zebra=HEAD
    )
    assert only(errors_of(root)) == expected


def test_a_kubernetes_object_in_specs_is_reported(tmp_path: pathlib.Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n"
    root = write_specs(
        tmp_path, a=HEAD, base__b=LAYER, pod=pod, a__manifests__pod=pod, broken="a: [", empty="", other="a: b\n",
        tool="apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
    )  # fmt: skip
    assert cluster_files(root) == ["specs/a.yaml", "specs/broken.yaml", "specs/empty.yaml"]
    (finding,) = objects_in_specs(root)
    assert (finding.id, str(finding.mark), finding.is_error) == ("LAY011", "specs/pod.yaml:2:7", False)
    assert finding.message == "gpuc does not read this Pod: the file is in specs/ and not in a folder manifests/"
    assert finding.fix == "move the file to specs/<cluster>/manifests/"


@pytest.mark.parametrize(
    ("old", "new", "id_", "fix"),
    [
        ("kind: Cluster\n", "", "SPC002", "add kind: Cluster"),
        ("apiVersion: gpuc.dev/v1alpha1\n", "", "SPC002", "add apiVersion: gpuc.dev/v1alpha1"),
        ("gpuc.dev/v1alpha1", "v1", "SPC004", "set apiVersion to gpuc.dev/v1alpha1"),
    ],
)
def test_a_key_with_a_single_allowed_value_has_a_fix(
    tmp_path: pathlib.Path, old: str, new: str, id_: str, fix: str
) -> None:
    text = REFERENCE.replace("prod-use1", "a").replace(old, new)
    root = write_specs(tmp_path, a=text, base__eks=(ROOT / "specs/base/eks.yaml").read_text())
    with pytest.raises(StageError) as stop:
        parse(read(root, "specs/a.yaml"))
    assert [(finding.id, finding.fix) for finding in stop.value.findings] == [(id_, fix)]
