"""YAML is read as Kubernetes does, with the marks of all values and within limits."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuc.documents.reader import document, load_yaml, read
from tests.lanes import drawn


def mark_of(text: str, index: int, *path: str | int, on_key: bool = False) -> str:
    found = document(text, "f.yaml", index)
    return str(found and found.closest(path, on_key)[0])


def one(text: str) -> object:
    found = read(text, "a.yaml")
    assert found.findings == []
    ((index, value),) = found.documents
    assert index == 0
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("Off", False), ("~", None), ("y", True), ("N", False), ("On", True), ("NO", False),
        ("nO", "nO"), ("'y'", "y"), ("!!str n", "n"), (".4_", ".4_"), ("0o17", 15), ("089", 89.0), ("010", 8),
        ("0x1F", 31), ("1_000", 1000), ("1e3", 1000.0), (".5", 0.5), ("-0x1F", -31), ("0b101", 5), ("_1", "_1"),
        ("+", "+"), ("1.2.3", "1.2.3"), ("1٢", "1٢"), ("1.5e+3", 1500.0), ("2026-11-21", "2026-11-21"),
        ("12:30", "12:30"), ('"1"', "1"), ("!!str 1", "1"), ("!custom x", "x"),
    ],
)  # fmt: skip
def test_scalars_have_the_types_that_kubernetes_reads(text: str, value: object) -> None:
    assert one(f"a: {text}") == {"a": value}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("y", "true"), ("off", "false"), ("'y'", "y"), ("!!str n", "n"), ("010", "8"), ("+5", "5"), ("1.10", "1.1"),
        ("1e6", "1e+06"), ("2026-11-21", "2026-11-21"), ("x: &a on\n*a ", "true"),
    ],
)  # fmt: skip
def test_keys_have_the_text_that_kubernetes_reads(key: str, expected: str) -> None:
    found = one(f"{key}: 1")
    assert isinstance(found, dict) and list(found)[-1] == expected


def test_keys_of_different_words_can_be_the_same_key() -> None:
    assert [str(found.mark) for found in read("yes: 1\non: 2\n", "f.yaml").findings] == ["f.yaml:2:1"]
    assert mark_of("a: {010: x}\n", 0, "a", "8", on_key=True) == "f.yaml:1:5"


def test_aliases_and_merge_keys_are_expanded() -> None:
    text = "base: &base {a: 1, b: 2}\nmade: {<<: *base, b: 3}\nboth: {<<: [{a: 5}, *base]}\n"
    assert one(text) == {"base": {"a": 1, "b": 2}, "made": {"a": 1, "b": 3}, "both": {"a": 5, "b": 2}}


def test_json_is_yaml() -> None:
    assert one(json.dumps({"a": [1, None, {"b": "c"}]})) == {"a": [1, None, {"b": "c"}]}


def test_every_value_and_key_has_a_mark() -> None:
    text = "a: 1\n---\nb:\n  - c: x\n"
    assert mark_of(text, 1, "b", 0, "c") == "f.yaml:4:8"
    assert mark_of(text, 1, "b", 0, "c", on_key=True) == "f.yaml:4:5"
    assert mark_of(text, 1, "b", 0, "d", on_key=True) == "f.yaml:4:5", "a value that does not exist has its parent's"
    assert mark_of(text, 1, "b", 1) == "f.yaml:4:3"
    assert mark_of("? [a]\n: 1\n", 0, "?") == "f.yaml:2:3"


def test_a_merged_value_has_the_mark_in_the_map_that_is_merged() -> None:
    assert mark_of("base: &base {a: 1}\nmade: {<<: *base, b: 3}\n", 0, "made", "a") == "f.yaml:1:17"


def test_an_anchor_can_be_defined_again() -> None:
    """Source: YAML 1.2.2, section 7.1. libyaml's own composer refuses it, the parser of Kubernetes does not."""
    assert one("a: &x 1\nb: *x\nc: &x 2\nd: *x\n") == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_the_values_of_an_alias_are_not_shared() -> None:
    found = load_yaml("a: &a {b: []}\nc: *a\n")
    assert found["a"]["b"] is not found["c"]["b"]


def test_an_error_after_a_valid_document_is_reported() -> None:
    found = read("a: 1\n---\nb: [\n", "f.yaml")
    assert found.documents == [(0, {"a": 1})]
    assert [(finding.id, finding.mark.line if finding.mark else 0) for finding in found.findings] == [("LNT001", 4)]


def test_a_repeated_key_is_reported_once_per_map() -> None:
    found = read("a: {b: 1, c: 2, b: 3}\n", "f.yaml")
    assert [(finding.id, str(finding.mark)) for finding in found.findings] == [("LNT002", "f.yaml:1:17")]


def test_nested_aliases_do_not_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    found = read("\n".join(lines), "f.yaml")
    assert [finding.id for finding in found.findings] == ["LNT003"]
    assert found.documents == []


def test_an_alias_within_itself_does_not_hang() -> None:
    assert [finding.id for finding in read("a: &a [*a]\n", "f.yaml").findings] == ["LNT003"]
    assert document("a: &a [*a]\n", "f.yaml", 0) is None


def test_deep_nesting_is_refused() -> None:
    assert [finding.id for finding in read("[" * 5000 + "]" * 5000, "f.yaml").findings] in (["LNT003"], ["LNT001"])


@drawn(300)
@given(st.text(max_size=200))
def test_any_text_is_read_or_reported(text: str) -> None:
    found = read(text, "f.yaml")
    for index, _ in found.documents:
        assert document(text, "f.yaml", index)


@drawn(300)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"\n #,?%@0.<~\x85\u2028\ufeff\0\ud800", max_size=120))
def test_any_punctuation_is_read_or_reported(text: str) -> None:
    found = read(text, "f.yaml")
    for index, _ in found.documents:
        assert document(text, "f.yaml", index)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (".nan", ".nan"),
        ("-.inf", "-.inf"),
        ("1.0e+999", "1.0e+999"),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 1.8446744073709552e19),
        ("9" * 5000, "9" * 5000),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
    ],
)
def test_numbers_that_json_does_not_have_stay_text(text: str, value: object) -> None:
    assert one(f"a: {text}") == {"a": value}


MANY = "a: 1  # one\n# two\n...\n%YAML 1.1\n---\nb: {c: 2}\n---\n---\n- é😀\n--- x\n"


def test_documents_are_found_without_reading_those_before() -> None:
    assert [index for index, _ in read(MANY, "f.yaml").documents] == [0, 1, 2, 3, 4]
    assert mark_of(MANY, 1, "b", "c") == "f.yaml:6:8"
    assert mark_of(MANY, 3, 0) == "f.yaml:9:3"
    assert mark_of(MANY, 4) == "f.yaml:10:5"
    assert document(MANY, "f.yaml", 5) is None


def test_a_byte_order_mark_is_no_part_of_a_document() -> None:
    text = "\ufeff''\n--- {a: 'b'}"
    assert read(text, "f.yaml").documents == [(0, ""), (1, {"a": "b"})]
    assert mark_of(text, 1, "a") == "f.yaml:2:9"


def test_values_in_a_stream_of_json_have_marks() -> None:
    text = '{"a": 1}{"b":\n {"c": 2}} {"d": 3}\n'
    assert read(text, "f.json").documents == [(0, {"a": 1}), (1, {"b": {"c": 2}}), (2, {"d": 3})]
    assert mark_of(text, 1, "b", "c") == "f.yaml:2:8"
    assert mark_of(text, 2, "d", on_key=True) == "f.yaml:2:13"
    assert read('{"a": 1}\n[2]\n', "f.json").findings, "only objects come in streams"


def test_the_limit_counts_values_of_aliases_and_not_written_values() -> None:
    (found,) = read(f"a: [{'1,' * 500}]\n", "f.yaml", aliased_max=100).documents
    assert len(found[1]["a"]) == 500
    aliases = f"a: &a [{'1,' * 50}]\nb: [*a, *a, *a]\n"
    assert [finding.id for finding in read(aliases, "f.yaml", aliased_max=100).findings] == ["LNT003"]
