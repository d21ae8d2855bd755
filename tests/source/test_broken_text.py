"""Broken texts: the finding is at the mistake, names the cause, and has the fix that is certain."""

from __future__ import annotations

import pathlib
import re

import pytest

from gpuc.diagnostics.finding import Finding, StageError
from gpuc.source import cluster_files, read
from gpuc.source.document import compose
from gpuc.source.foreign import objects_in_specs
from gpuc.spec.parse import parse
from tests.source.test_source import HEAD, LAYER, errors_of, write_specs

ROOT = pathlib.Path(__file__).parents[2]
REFERENCE = (ROOT / "specs/prod-use1.yaml").read_text()

EDITS = {
    "a list without its closing bracket": (
        "zones: [us-east-1a, us-east-1b]", "zones: [us-east-1a, us-east-1b", "zones: >[",
        "the bracket [ is not closed", "add the closing bracket ]",
    ),
    "an inner map without its closing bracket": (
        "karpenter.sh/discovery: prod-use1}}\n", "karpenter.sh/discovery: prod-use1}\n", "subnets: >{",
        "the bracket { is not closed", "add the closing bracket }",
    ),
    "a list in a map without its closing bracket": (
        "{ids: [cr-0a1b2c3d4e5f6a7b8],", "{ids: [cr-0a1b2c3d4e5f6a7b8,", "{ids: >[",
        "the bracket [ is not closed", "add the closing bracket ]",
    ),
    "a list in a map without its opening bracket": (
        "{ids: [cr-0a1b2c3d4e5f6a7b8],", "{ids: cr-0a1b2c3d4e5f6a7b8],", "{ids: cr-0a1b2c3d4e5f6a7b8>]",
        "the bracket ] closes no bracket [", "",
    ),
    "a text without its closing quotation mark, and other quoted texts below": (
        'kubernetes: "1.35"', 'kubernetes: "1.35', 'kubernetes: >"',
        'the quotation mark " is not closed', 'add the closing quotation mark "',
    ),
    "an apostrophe in a quoted text": (
        "owner: gpu-platform", "owner: 'platform's'", "owner: 'platform>'",
        "the apostrophe ends the text in quotes", "write '' for the apostrophe",
    ),
    "text after a quoted text": (
        'kubernetes: "1.35"', 'kubernetes: "1.35" or later', 'kubernetes: "1.35>"',
        "text follows the closing quotation mark; expected the end of the value", "",
    ),
    "a list without its opening bracket": (
        "zones: [us-east-1a, us-east-1b]", "zones: us-east-1a, us-east-1b]", "zones: >us",
        "us-east-1a, us-east-1b] ends with a bracket and does not begin with one",
        "add the opening bracket: [us-east-1a, us-east-1b]",
    ),
    "a text without its opening quotation mark": (
        'kubernetes: "1.35"', 'kubernetes: 1.35"', 'kubernetes: >1.35"',
        '1.35" ends with a quotation mark and does not begin with one', 'add the opening quotation mark: "1.35"',
    ),
    "a key without a colon, first in its map": (
        "region: us-east-1", "region us-east-1", ">region us",
        "the colon after region is missing", "write region: us-east-1",
    ),
    "a key without a colon, in its map": (
        "eksCluster: prod-use1", "eksCluster prod-use1", ">eksCluster",
        "the colon after eksCluster is missing", "write eksCluster: prod-use1",
    ),
    "a key of a map without a colon": (
        "    train-h100:               # complete", "    train-h100                # complete", ">train-h100  ",
        "the colon after train-h100 is missing", "write train-h100:",
    ),
    "a key without a colon and with a comment": (
        "environment: prod   ", "environment prod   ", ">environment prod",
        "the colon after environment is missing", "write environment: prod",
    ),
    "a key with an equals sign": (
        "eksCluster: prod-use1", "eksCluster = prod-use1", ">eksCluster",
        "eksCluster is followed by =; expected a colon", "write eksCluster: prod-use1",
    ),
    "no space after a colon": (
        "fabric: efa\n      runs: {longest: 72h", "fabric:efa\n      runs: {longest: 72h", ">fabric:efa",
        "a space is missing after the colon of fabric", "write fabric: efa",
    ),
    "a text of several lines without quotes": (
        "      eksCluster: prod-use1", "      eksCluster: prod-use1\n      the first one", ">the first one",
        "the line has no colon; expected a key with a colon, or quotes around a text of several lines", "",
    ),
    "a second colon": (
        "owner: gpu-platform}", "owner: gpu-platform}\n      note: see the page: costs  # x", "see the page>: costs",
        "the value of note contains a colon and has no quotes", 'put the value in quotes: "see the page: costs"',
    ),
    "a key that is too deep": (
        "      eksCluster:", "        eksCluster:", ">eksCluster:",
        "eksCluster is indented by 8 spaces; expected 6", "indent eksCluster by 6 spaces",
    ),
    "a key that is too deep below a quoted text": (
        "  cloud:\n", "    cloud:\n", ">cloud:",
        "cloud is indented by 4 spaces; expected 2", "indent cloud by 2 spaces",
    ),
    "a key between two maps": (
        "      eksCluster:", "     eksCluster:", ">eksCluster:",
        "eksCluster is indented by 5 spaces; expected 4 or 6", "",
    ),
    "an entry that is less deep than the list": (
        "  - base/eks.yaml", "  - base/eks.yaml\n - b.yaml", " >- b.yaml",
        "the entry of a list is indented by 1 space; expected 2", "indent the entry by 2 spaces",
    ),
    "a value that begins with a reserved character": (
        "region: us-east-1", "region: @us-east-1", "region: >@",
        "a value cannot begin with @; put the value in quotes", 'put the value in quotes: "@us-east-1"',
    ),
    "a wildcard without quotes": (
        "owner: gpu-platform}", "owner: gpu-platform}\n      note: *.example.com", "note: >*",
        "a value cannot begin with *; put the value in quotes", 'put the value in quotes: "*.example.com"',
    ),
    "a tab before a value": (
        "region: us-east-1", "region:\tus-east-1", "region:>\t",
        "the value begins with a tab; expected a space", "replace the tab by a space",
    ),
    "a backslash in double quotes": (
        'kubernetes: "1.35"', 'kubernetes: "1\\.35"', '"1\\>.35',
        "the text is not YAML: a backslash begins an escape in double quotes; use single quotes", "",
    ),
    "no space after a dash": (
        "  - base/eks.yaml", "  - base/eks.yaml\n  -other.yaml", "  >-other.yaml",
        "a space is missing after the dash", "write - other.yaml",
    ),
    "a list in a map": (
        "      eksCluster: prod-use1", "      - prod-use1", "      >- prod-use1",
        "the text is not YAML: an entry of a list is not allowed in a map; expected a key", "",
    ),
    "an indented first line": (
        "apiVersion: gpuc", "  apiVersion: gpuc", ">kind: Cluster",
        "kind is indented by 0 spaces; expected 2", "indent kind by 2 spaces",
    ),
    "a key without its closing quotation mark": (
        "      eksCluster:", '      "eksCluster:', '>"eksCluster',
        'the quotation mark " is not closed', 'add the closing quotation mark "',
    ),
    "a map without a comma": (
        "instances: 12}", "instances: 12 kind: x}", "12 kind>: x", "the text is not YAML: a comma is missing", "",
    ),
    "a no-break space as indentation": (
        "      eksCluster", "\u00a0     eksCluster", ">\u00a0",
        "the character U+00A0 (no-break space) is a letter for YAML; expected a space", "replace U+00A0 by a space",
    ),
    "a no-break space between a dash and a text": (
        "  - base/eks.yaml", "  -\u00a0base/eks.yaml", "  ->\u00a0",
        "the character U+00A0 (no-break space) is a letter for YAML; expected a space", "replace U+00A0 by a space",
    ),
    "a narrow no-break space after a colon": (
        "eksCluster: prod-use1", "eksCluster:\u202fprod-use1", "eksCluster:>\u202f",
        "the character U+202F (narrow no-break space) is a letter for YAML; expected a space",
        "replace U+202F by a space",
    ),
    "an ideographic space before a value": (
        "eksCluster: prod-use1", "eksCluster: \u3000prod-use1", "eksCluster: >\u3000",
        "the character U+3000 (ideographic space) is a letter for YAML; expected a space", "replace U+3000 by a space",
    ),
    "a figure space after a value": (
        "eksCluster: prod-use1", "eksCluster: prod-use1\u2007", "prod-use1>\u2007",
        "the character U+2007 (figure space) is a letter for YAML; expected a space", "replace U+2007 by a space",
    ),
    "curly quotes around a value": (
        "eksCluster: prod-use1", "eksCluster: “prod-use1”", "eksCluster: >“",
        "the quotation mark “ is a letter of the text “prod-use1”; expected straight quotation marks",
        'replace “prod-use1” by "prod-use1"',
    ),
    "a curly quote and a straight quote": (
        "[spot, on-demand]", "[“spot\", on-demand]", "[>“",
        "the quotation mark “ is a letter of the text “spot\"; expected straight quotation marks",
        'replace “spot" by "spot"',
    ),
    "curly quotes around a key": (
        "eksCluster:", "\u2018eksCluster\u2019:", ">\u2018",
        "the quotation mark \u2018 is a letter of the text \u2018eksCluster\u2019; expected straight quotation marks",
        'replace \u2018eksCluster\u2019 by "eksCluster"',
    ),
    "a second document": (
        "  pools:\n", "---\n  pools:\n", ">---\n  pools",
        "a second document begins here; expected one document", "move the second document to another file",
    ),
    "a second document after the end of the first one": (
        "  pools:\n", "...\n# pools\n\n  pools:\n", "  >pools",
        "a second document begins here; expected one document", "move the second document to another file",
    ),
    "a directive between two keys": (
        "  pools:\n", "%YAML 1.2\n  pools:\n", ">%YAML",
        "the file has a YAML directive; expected YAML 1.2 without directives", "remove the directive",
    ),
    "a directive between two entries": (
        "  - base/eks.yaml", "  - base/eks.yaml\n%YAML 1.2\n  - b.yaml", ">%YAML",
        "the file has a YAML directive; expected YAML 1.2 without directives", "remove the directive",
    ),
    "an anchor instead of a key": (
        "      eksCluster:", "      &eksCluster:", ">&eksCluster",
        "the key &eksCluster has an anchor or a tag; expected a string",
        "remove the anchor or tag of key &eksCluster",
    ),
    "a colon after the last value of a map": (
        "instances: 12}", "instances: 12:}", "12>:}",
        "the text is not YAML: a colon is not allowed here: quote text with a colon, or check the indentation", "",
    ),
    "a merge key": (
        "nodes: {max: 16}", "<<: {max: 16}", "><<: {max", "<< is a merge key; put shared content into a layer",
        "list the layer under extends and remove <<",
    ),
    "yes": (
        "nodeLocalDns: true", "nodeLocalDns: yes", "nodeLocalDns: >yes",
        "yes has different values in different YAML parsers", 'replace yes by true, or by "yes" for a string',
    ),
    "a tab": (
        "      eksCluster", "\teksCluster", ">\t", "the line is indented with a tab", "indent with spaces",
    ),
}  # fmt: skip
"""Old text, new text, the new text with > before the position of the finding, message, fix."""


def place_of(text: str, marked: str) -> tuple[int, int]:
    before, after = marked.split(">", 1)
    assert before + after in text
    start = text.index(before + after) + len(before)
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


@pytest.mark.parametrize("case", EDITS)
def test_the_first_finding_is_at_the_mistake(case: str) -> None:
    old, new, marked, message, fix = EDITS[case]
    text = REFERENCE.replace(old, new, 1)
    assert text != REFERENCE
    _, (finding, *_) = compose(text, "f.yaml")
    assert finding.mark and finding.is_error
    assert (finding.mark.line, finding.mark.column) == place_of(text, marked), finding
    assert (finding.message, finding.fix) == (message, fix)


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


def test_no_message_contains_words_of_the_parser() -> None:
    for old, new, *_ in EDITS.values():
        for finding in compose(REFERENCE.replace(old, new, 1), "f.yaml")[1]:
            assert not re.search(r"<block|'\?'|scanning|token|mapping values", finding.message)
