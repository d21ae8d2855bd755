"""Embedded YAML: parsers of YAML 1.1 and of YAML 1.2 read back the original data."""

import io
from typing import Any

import pytest
import yaml
from hypothesis import example as case
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gpuc.emit.block import block_yaml
from gpuc.emit.emitters import emit
from gpuc.manifest.manifest import Values
from tests.conftest import EXAMPLES, example

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12) | st.sampled_from(
    ["yes", "no", "1e3", "0x10", "~", "null", "- a", "a: b", "41m", "1.0", "on", "=", "<<", ":8081", "{}"]
)
DATA = st.recursive(
    TEXTS | st.booleans() | st.integers(-(10**9), 10**9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS.filter(bool), inner, max_size=4),
)


@given(DATA)
@case({"unprintable": "\x7f\ufffe\uffff"})
def test_any_data_is_read_back_as_it_was(data: Any) -> None:
    text = block_yaml(data)
    assert yaml.load(text, Loader=yaml.SafeLoader) == data
    assert YAML(typ="safe", pure=True).load(io.StringIO(text)) == data


@pytest.mark.parametrize("name", EXAMPLES)
def test_embedded_documents_are_registered_with_their_data(name: str) -> None:
    said = {
        text: document
        for artifact in emit(example(name))
        if isinstance(artifact, Values)
        for text, document in artifact.embedded.items()
    }
    assert len(said) >= 2
    for text, document in said.items():
        assert yaml.safe_load(text) == document
