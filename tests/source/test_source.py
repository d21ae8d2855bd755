"""Reading specs: line and column of all values, merged layers, and refusal of YAML that parsers read differently."""

import os
import pathlib
import shutil
from typing import Any

import pytest

from gpuc.diagnostics.finding import Finding, Mark, Severity, StageError
from gpuc.source import Source, cluster_files, read

ROOT = pathlib.Path(__file__).parents[2]
HEAD = "apiVersion: gpuc.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n"
LAYER = "apiVersion: gpuc.dev/v1alpha1\nkind: Layer\n"


def write_specs(tmp_path: pathlib.Path, **files: str | bytes) -> pathlib.Path:
    """Writes specs/<name>.yaml for each keyword argument. __ in a name separates folders."""
    for name, text in files.items():
        path = tmp_path / "specs" / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path


def errors_of(root: pathlib.Path, file: str = "specs/a.yaml") -> tuple[Finding, ...]:
    with pytest.raises(StageError) as stop:
        read(root, file)
    assert all(finding.mark for finding in stop.value.findings)
    return stop.value.findings


def positions(findings: tuple[Finding, ...]) -> list[tuple[str, int, int]]:
    return [(f.id, f.mark.line, f.mark.column) for f in findings if f.mark]


@pytest.fixture(scope="module")
def reference() -> Source:
    return read(ROOT, "specs/prod-use1.yaml")


def test_the_reference_spec_equals_what_a_second_parser_reads(reference: Source) -> None:
    import yaml

    top, base = (yaml.safe_load((ROOT / file).read_text()) for file in reference.files)
    merged = {**base["spec"], **top["spec"]}
    assert reference.tree["spec"] == merged
    assert "extends" not in reference.tree
    assert list(reference.tree["spec"]) == list(dict.fromkeys([*top["spec"], *base["spec"]]))
    assert not reference.remarks


def test_every_mark_of_the_reference_spec_points_at_its_text(reference: Source) -> None:
    lines = {file: (ROOT / file).read_text().splitlines() for file in reference.files}
    assert len(reference.marks) > 300
    for path, mark in reference.keys.items():
        assert lines[mark.file][mark.line - 1][mark.column - 1 :].startswith(f"{path[-1]}:"), (path, mark)
    for path, mark in reference.marks.items():
        text = lines[mark.file][mark.line - 1][mark.column - 1 :]
        value: Any = reference.tree
        for step in path:
            value = value[step]
        if isinstance(value, dict):
            assert text.startswith(("{", *value)), (path, mark)
        elif isinstance(value, list):
            assert text.startswith(("[", "-")), (path, mark)
        else:
            written = reference.raw.get(path, str(value).lower() if isinstance(value, bool) else str(value))
            assert text.lstrip('"').startswith(written), (path, mark)


def test_a_value_of_a_layer_is_located_in_the_layer(reference: Source) -> None:
    assert reference.locate(("spec", "delivery", "path")).file == "specs/base/eks.yaml"
    assert reference.locate(("spec", "environment")).file == "specs/prod-use1.yaml"


def test_a_missing_value_is_located_at_its_closest_ancestor(reference: Source) -> None:
    pool = ("spec", "pools", "train-h100")
    assert reference.locate((*pool, "sharing", "mig", "every")) == reference.marks[(*pool, "sharing")]
    assert reference.locate(pool, on_key=True) == reference.keys[pool]
    assert reference.locate(("nothing", 3)) == Mark("specs/prod-use1.yaml", 2, 1)


INVALID = {
    "a second colon": (b"a: b: c\n", "YAML001", 1, 5),
    "a bracket that never closes": (b"a: [1\n", "YAML001", 1, 4),
    "a bad escape": (b'a: "\\U00FFFFFF"\n', "YAML001", 1, 7),
    "a tab": (b"a:\n\tb: 1\n", "YAML002", 2, 1),
    "a duplicate key": (b"a: 1\nb: 2\na: 3\n", "YAML003", 3, 1),
    "a duplicate key in a flow map": (b"a: {x: 1, x: 2}\n", "YAML003", 1, 11),
    "deep nesting": (b"a: " + b"[" * 2000, "YAML004", 1, 54),
    "an unknown alias": (b"a: *b\n", "YAML005", 1, 4),
    "a recursive alias": (b"a: &x [*x]\n", "YAML005", 1, 8),
    "a merge key": (b"a: &x {b: 1}\nc:\n  <<: *x\n", "YAML006", 3, 3),
    "Norway": (b"a: {country: NO}\n", "YAML007", 1, 14),
    "Norway as key": (b"a: {no: 1}\n", "YAML007", 1, 5),
    "an octal number": (b"a: 010\n", "YAML008", 1, 4),
    "an account id": (b"a: 012345678901\n", "YAML008", 1, 4),
    "a commit id": (b"a: 12e4567\n", "YAML008", 1, 4),
    "underscores": (b"a: 1_000\n", "YAML008", 1, 4),
    "base 60": (b"a: 12:30:00\n", "YAML009", 1, 4),
    "a date": (b"a: 2026-08-15\n", "YAML010", 1, 4),
    "a time": (b"a: 2027-01-31T11:30:00Z\n", "YAML010", 1, 4),
    "a second document": (b"a: 1\n---\nb: 2\n", "YAML011", 2, 1),
    "nothing": (b"", "YAML012", 1, 1),
    "only comments": (b"# a\n# b\n", "YAML012", 1, 1),
    "an empty document": (b"---\n", "YAML012", 2, 1),
    "a list": (b"- a\n", "YAML013", 1, 1),
    "latin 1": (b"a: 1\nb: x\xe9y\n", "YAML015", 2, 5),
    "utf-16": ("a: 1\n".encode("utf-16"), "YAML015", 1, 1),
    "a NUL": (b"a: bcd\0e\n", "YAML016", 1, 7),
    "a hidden direction mark": ("a: 1\nb: x\u202ey\n".encode(), "YAML016", 2, 5),
    "a number as key": (b"a: {8: x}\n", "YAML017", 1, 5),
    "true as key": (b"a:\n  true: x\n", "YAML017", 2, 3),
    "a list as key": (b"? [a]\n: b\n", "YAML017", 1, 3),
    "a tag that runs code": (b"a: !!python/object/apply:os.system [ls]\n", "YAML018", 1, 4),
    "a short tag": (b"a: !Ref b\n", "YAML018", 1, 4),
    "a directive": (b"# x\n%YAML 1.1\n---\na: 1\n", "YAML018", 2, 1),
    "a large file": (b"#" * (1 << 20) + b"\na: 1\n", "YAML019", 1, 1),
    "a long line": (b"a: 1\nb: !" + b"x" * (1 << 17), "YAML019", 2, 1),
    "an endless number": (b"a: " + b"9" * 5000 + b"\n", "YAML020", 1, 4),
    "infinity": (b"a: .inf\n", "YAML020", 1, 4),
    "a key without a value": (b"a: 1\nspec:\n", "YAML021", 2, 1),
    "null in a list": (b"a: [~]\n", "YAML021", 1, 5),
}


@pytest.mark.parametrize("case", INVALID)
def test_invalid_yaml_is_reported_at_its_position(tmp_path: pathlib.Path, case: str) -> None:
    text, id_, line, column = INVALID[case]
    findings = errors_of(write_specs(tmp_path, a=text))
    assert positions(findings) == [(id_, line, column)]
    assert findings[0].severity is Severity.ERROR


def test_findings_of_all_files_are_reported_together(tmp_path: pathlib.Path) -> None:
    top = HEAD + "extends: [b.yaml, c.yaml]\nx: no\nz: 1\nz: 2\n"
    root = write_specs(tmp_path, a=top, b=LAYER + "z: 010\n", c="q: [")
    assert [(f.id, f.mark.file) for f in errors_of(root) if f.mark] == [
        ("YAML007", "specs/a.yaml"), ("YAML003", "specs/a.yaml"), ("YAML008", "specs/b.yaml"),
        ("YAML001", "specs/c.yaml"),
    ]  # fmt: skip


def test_aliases_are_expanded_but_do_not_explode(tmp_path: pathlib.Path) -> None:
    shared = HEAD + "spec: {x: &x {k: 1}, l: [*x, *x]}\n"
    source = read(write_specs(tmp_path, a=shared), "specs/a.yaml")
    assert source.tree["spec"]["l"] == [{"k": 1}, {"k": 1}]
    bomb = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    assert {f.id for f in errors_of(write_specs(tmp_path, a=bomb))} == {"YAML004"}
    deep = "a: &a0 [x]\n" + "".join(f"k{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 90))
    assert {f.id for f in errors_of(write_specs(tmp_path, a=deep))} == {"YAML004"}


def test_plain_scalars_follow_the_core_schema_and_numbers_keep_their_text(tmp_path: pathlib.Path) -> None:
    spec = "spec: {a: 1.30, b: 0x1F, c: -5, d: TRUE, e: '010', f: p5.48xlarge, g: 10.0.0.0/17, h: x y, i: +1.5}\n"
    source = read(write_specs(tmp_path, a=HEAD + spec), "specs/a.yaml")
    assert source.tree["spec"] == {
        "a": 1.3, "b": 31, "c": -5, "d": True, "e": "010", "f": "p5.48xlarge", "g": "10.0.0.0/17", "h": "x y", "i": 1.5,
    }  # fmt: skip
    assert source.raw[("spec", "a")] == "1.30"
    assert ("spec", "e") not in source.raw


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_do_not_move_positions(tmp_path: pathlib.Path, ending: str) -> None:
    text = (HEAD + "spec:\n  é: {x: 1}\n").replace("\n", ending)
    source = read(write_specs(tmp_path, a=text), "specs/a.yaml")
    assert source.locate(("spec", "é", "x")) == Mark("specs/a.yaml", 5, 10)


def test_a_byte_order_mark_is_reported_and_does_not_move_positions(tmp_path: pathlib.Path) -> None:
    source = read(write_specs(tmp_path, a=b"\xef\xbb\xbf" + HEAD.encode()), "specs/a.yaml")
    assert [finding.id for finding in source.remarks] == ["YAML014"]
    assert source.locate(("apiVersion",)) == Mark("specs/a.yaml", 1, 13)


def test_files_that_cannot_be_read_are_findings(tmp_path: pathlib.Path) -> None:
    root = write_specs(tmp_path, a=HEAD)
    (root / "specs" / "d.yaml").mkdir()
    os.mkfifo(root / "specs" / "pipe.yaml")
    for file in ("specs/d.yaml", "specs/pipe.yaml", "specs/none.yaml", f"specs/{'x' * 300}.yaml"):
        assert [f.id for f in errors_of(root, file)] == ["YAML022"]


def test_maps_merge_lists_are_replaced_and_the_upper_order_wins(tmp_path: pathlib.Path) -> None:
    root = write_specs(
        tmp_path,
        a=HEAD + "extends: [low.yaml, mid/mid.yaml]\nspec: {m: {z: 1, b: 2}, l: [3]}\n",
        low=LAYER + "spec: {m: {a: 0, b: 0, c: 0}, l: [1, 2], only: low}\n",
        mid__mid=LAYER + "extends: [low.yaml]\nspec: {m: {c: 5}, only: mid}\n",
    )
    source = read(root, "specs/a.yaml")
    assert source.tree["spec"] == {"m": {"z": 1, "b": 2, "c": 5, "a": 0}, "l": [3], "only": "mid"}
    assert list(source.tree["spec"]["m"]) == ["z", "b", "c", "a"]
    assert source.files == ("specs/a.yaml", "specs/low.yaml", "specs/mid/mid.yaml")
    assert source.tree["kind"] == "Cluster"
    assert source.locate(("spec", "m", "c")).file == "specs/mid/mid.yaml"
    assert source.locate(("spec", "l", 0)).file == "specs/a.yaml"
    assert ("spec", "l", 1) not in source.marks


def test_null_removes_only_a_key_of_a_layer(tmp_path: pathlib.Path) -> None:
    root = write_specs(
        tmp_path, a=HEAD + "extends: [b.yaml]\nspec: {x: null, w: 1}\n", b=LAYER + "spec: {x: {deep: 1}, z: 1}\n"
    )
    assert read(root, "specs/a.yaml").tree["spec"] == {"w": 1, "z": 1}
    write_specs(tmp_path, a=HEAD + "extends: [b.yaml]\nspec:\n  x:\n  w: null\n")
    assert positions(errors_of(root)) == [("YAML021", 6, 3), ("YAML021", 7, 6)]


def test_null_removes_the_helm_values_of_a_layer(tmp_path: pathlib.Path) -> None:
    layer = LAYER + "spec: {components: {kueue: {values: {x: 1, z: 1}}, karpenter: {values: {x: 1}}}}\n"
    text = "extends: [b.yaml]\nspec: {components: {kueue: {values: null}, karpenter: {values: {x: null}}}}\n"
    root = write_specs(tmp_path, a=HEAD + text, b=layer)
    components = {"kueue": {}, "karpenter": {"values": {"x": None}}}
    assert read(root, "specs/a.yaml").tree["spec"] == {"components": components}


def test_a_replaced_map_is_reported(tmp_path: pathlib.Path) -> None:
    root = write_specs(tmp_path, a=HEAD + "extends: [b.yaml]\nspec: {x: 1}\n", b=LAYER + "spec: {x: {deep: 1}}\n")
    source = read(root, "specs/a.yaml")
    assert source.tree["spec"] == {"x": 1}
    assert [(f.id, f.path) for f in source.remarks] == [("LAY008", ("spec", "x"))]


@pytest.mark.parametrize(
    ("item", "id_"),
    [
        ("../secret.yaml", "LAY002"), ("/etc/passwd", "LAY002"), ("link.yaml", "LAY002"), ("loop.yaml", "LAY002"),
        ("'b\\c.yaml'", "LAY002"), ("base/b.yml", "LAY003"), ("8", "LAY001"), ("[x]", "LAY001"), ("''", "LAY001"),
        (f"{'x' * 300}.yaml", "LAY003"), ("base", "YAML022"), ("a.yaml", "LAY004"), ("other.yaml", "LAY005"),
        ("old.yaml", "LAY006"), ("named.yaml", "LAY007"),
    ],
)  # fmt: skip
def test_an_invalid_layer_is_reported(tmp_path: pathlib.Path, item: str, id_: str) -> None:
    root = write_specs(
        tmp_path,
        a=HEAD + f"extends:\n  - {item}\n",
        base__b=LAYER,
        other=HEAD,
        old="apiVersion: gpuc.dev/v0\nkind: Layer\n",
        named=LAYER + "metadata: {name: x}\n",
    )
    (root / "secret.yaml").write_text(LAYER)
    (root / "specs" / "link.yaml").symlink_to("../secret.yaml")
    (root / "specs" / "loop.yaml").symlink_to("loop.yaml")
    findings = errors_of(root)
    assert [f.id for f in findings] == [id_]
    if id_ == "LAY003" and item.startswith("base"):
        assert findings[0].fix == f"replace {item} by base/b.yaml"


def test_a_cycle_of_layers_is_reported(tmp_path: pathlib.Path) -> None:
    root = write_specs(
        tmp_path,
        a=HEAD + "extends: [b.yaml]\n",
        b=LAYER + "extends: [c.yaml]\n",
        c=LAYER + "extends: [b.yaml]\n",
    )
    (finding,) = errors_of(root)
    assert finding.mark == Mark("specs/c.yaml", 3, 11)
    assert "specs/b.yaml -> specs/c.yaml -> specs/b.yaml" in finding.message


def test_a_very_long_chain_is_an_error(tmp_path: pathlib.Path) -> None:
    chain = {f"l{i}": LAYER + f"extends: [l{i + 1}.yaml]\n" for i in range(100)}
    root = write_specs(tmp_path, a=HEAD + "extends: [l0.yaml]\n", **chain)
    assert [f.id for f in errors_of(root)] == ["LAY010"]


def test_extends_is_a_list_also_for_one_layer(tmp_path: pathlib.Path) -> None:
    (finding,) = errors_of(write_specs(tmp_path, a=HEAD + "extends: b.yaml\n", b=LAYER))
    assert (finding.id, finding.fix) == ("LAY001", "set extends to [b.yaml]")


def test_a_cluster_has_the_name_of_its_file_and_is_not_a_layer(tmp_path: pathlib.Path) -> None:
    root = write_specs(tmp_path, b=HEAD, layer=LAYER)
    assert [f.id for f in errors_of(root, "specs/b.yaml")] == ["LAY009"]
    assert [f.id for f in errors_of(root, "specs/layer.yaml")] == ["LAY005"]
    assert [f.id for f in errors_of(root, "../b.yaml")] == ["LAY002"]


def test_clusters_are_found_also_where_they_do_not_parse(tmp_path: pathlib.Path) -> None:
    root = write_specs(
        tmp_path, b=HEAD, a=HEAD.replace("\n", "\r\n"), layer=LAYER, flow="{kind: Cluster}", broken="a: [", empty="",
        typo="apiVersion: gpuc.dev/v1alpha1\nkind: Clutser\n", foreign="apiVersion: v1\nkind: Kustomization\n",
        sub__c="kind: 'Cluster'  # x\n",
    )  # fmt: skip
    shutil.copy(root / "specs" / "a.yaml", root / "specs" / ".hidden.yaml")
    assert cluster_files(root) == [
        f"specs/{name}.yaml" for name in ("a", "b", "broken", "empty", "flow", "sub/c", "typo")
    ]  # fmt: skip
