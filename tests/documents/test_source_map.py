"""The position of a value whose path continues inside of a string."""

import pytest

from gpuc.documents import source_map
from gpuc.documents.reader import Document, document

TEXT = """\
mode: Retain
quoted: '"Retain"'
data:
  config.yaml: |
    sharing:
      modes: [all, '{x: 1}']
"""
READINGS_MAX = 5
"""More documents than any path of TEXT needs."""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("data", "config.yaml", "sharing", "modes", 0), "f.yaml:6:15"),
        (("data", "config.yaml", "sharing", "modes", 1, "x"), "f.yaml:6:25"),
        (("mode", "x"), "f.yaml:1:7"),
        (("mode", 0, 0), "f.yaml:1:7"),
        (("quoted", "x"), "f.yaml:2:9"),
        (("data", "config.yaml", "sharing", "modes", 0, "x"), "f.yaml:6:15"),
    ],
)
def test_a_path_below_a_string_has_an_end(
    monkeypatch: pytest.MonkeyPatch, path: tuple[str | int, ...], expected: str
) -> None:
    """A word is a YAML document that contains the same word."""
    read: list[str] = []

    def limited(text: str, file: str, index: int) -> Document | None:
        read.append(text)
        assert len(read) <= READINGS_MAX
        return document(text, file, index)

    monkeypatch.setattr(source_map, "document", limited)
    places = source_map.SourceMap()
    places.add("f.yaml", TEXT)
    assert str(places.mark("f.yaml", (0, *path))) == expected
