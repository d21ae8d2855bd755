"""YAML of other people: what Kubernetes reads, where it stands, and bounds that nothing passes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.finding import Mark
from compiler.lint.text import marks, read


def one(text: str) -> object:
    found = read(text, "a.yaml")
    assert found.findings == []
    ((index, value),) = found.documents
    assert index == 0
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("0o17", "0o17"),
        ("010", 8),
        ("0x1F", 31),
        ("1_000", 1000),
        ("1e3", "1e3"),
        ("1.5e+3", 1500.0),
        ("2026-11-21", "2026-11-21"),
        ("12:30", "12:30"),
        ('"1"', "1"),
        ("!!str 1", "1"),
        ("!custom x", "x"),
    ],
)
def test_scalars_are_what_kubernetes_makes_of_them(text: str, value: object) -> None:
    assert one(f"a: {text}") == {"a": value}


def test_aliases_and_merge_keys_are_expanded() -> None:
    text = "base: &base {a: 1, b: 2}\nmade: {<<: *base, b: 3}\nboth: {<<: [{a: 5}, *base]}\n"
    assert one(text) == {"base": {"a": 1, "b": 2}, "made": {"a": 1, "b": 3}, "both": {"a": 5, "b": 2}}


def test_json_is_yaml() -> None:
    assert one(json.dumps({"a": [1, None, {"b": "c"}]})) == {"a": [1, None, {"b": "c"}]}


def test_every_value_and_key_has_its_place() -> None:
    found = marks("a: 1\n---\nb:\n  - c: x\n", "f.yaml", 1)
    assert found[("b", 0, "c"), False] == Mark("f.yaml", 4, 8)
    assert found[("b", 0, "c"), True] == Mark("f.yaml", 4, 5)


def test_a_document_behind_a_good_one_is_told() -> None:
    found = read("a: 1\n---\nb: [\n", "f.yaml")
    assert found.documents == [(0, {"a": 1})]
    assert [(each.id, each.mark.line if each.mark else 0) for each in found.findings] == [("LNT001", 4)]


def test_a_key_that_stands_twice_is_told_once_per_map() -> None:
    found = read("a: {b: 1, c: 2, b: 3}\n", "f.yaml")
    assert [(each.id, str(each.mark)) for each in found.findings] == [("LNT002", "f.yaml:1:17")]


def test_nested_aliases_do_not_explode() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    found = read("\n".join(lines), "f.yaml")
    assert [each.id for each in found.findings] == ["LNT003"]
    assert found.documents == []


def test_an_alias_within_itself_does_not_hang() -> None:
    assert [each.id for each in read("a: &a [*a]\n", "f.yaml").findings] == ["LNT003"]
    assert marks("a: &a [*a]\n", "f.yaml", 0)


def test_deep_nesting_is_refused() -> None:
    assert [each.id for each in read("[" * 5000 + "]" * 5000, "f.yaml").findings] in (["LNT003"], ["LNT001"])


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_told(text: str) -> None:
    found = read(text, "f.yaml")
    for index, _ in found.documents:
        assert marks(text, "f.yaml", index)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"\n #,?%@0.<~", max_size=120))
def test_any_punctuation_is_read_or_told(text: str) -> None:
    found = read(text, "f.yaml")
    for index, _ in found.documents:
        assert marks(text, "f.yaml", index)
