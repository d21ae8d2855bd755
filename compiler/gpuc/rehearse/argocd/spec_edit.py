"""Changes of a spec as a person makes them: of the cluster's own file, with its comments and its order."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.representer import RoundTripRepresenter

from gpuc.diagnostics.finding import Path
from gpuc.source import read

WIDTH = 4096
"""Longer than any line of a spec: no line is folded."""


class _Representer(RoundTripRepresenter):
    """Writes a null as a word: a key with nothing behind it is a finding of the spec language."""


_Representer.add_representer(
    type(None), lambda representer, value: representer.represent_scalar("tag:yaml.org,2002:null", "null")
)


class SpecFile:
    """A cluster's spec file in a working copy; a change is written into this file, never into a layer."""

    def __init__(self, root: pathlib.Path, file: str) -> None:
        """file is relative to the root, the folder that holds specs/."""
        self.root = root
        self.file = file
        self._yaml = YAML()
        self._yaml.Representer = _Representer
        self._yaml.indent(mapping=2, sequence=4, offset=2)
        self._yaml.preserve_quotes = True
        self._yaml.width = WIDTH
        self._tree: CommentedMap = self._yaml.load(self.path.read_text(encoding="utf-8"))

    @property
    def path(self) -> pathlib.Path:
        return self.root / self.file

    def merged(self) -> dict[str, Any]:
        """The tree of the file over its layers, without what is not saved.

        Raises:
            Stop: when the text of the file or of a layer is wrong.
        """
        return read(self.root, self.file).tree

    def save(self) -> None:
        """Writes the file."""
        stream = StringIO()
        self._yaml.dump(self._tree, stream)
        self.path.write_text(stream.getvalue(), encoding="utf-8")

    def set(self, path: Path, value: object) -> None:
        """Writes a value and saves; maps above it that only a layer has are made."""
        found: Any = self._tree
        for step in path[:-1]:
            if not isinstance(found.get(step), Mapping):
                found[step] = CommentedMap()
            found = found[step]
        found[path[-1]] = value
        self.save()

    def remove(self, path: Path) -> None:
        """Takes a key out and saves: the entry of this file, and by a null what a layer has beneath it.

        Raises:
            Stop: when the text of the file is wrong without the key.
        """
        above = _value(self._tree, path[:-1])
        if isinstance(above, CommentedMap) and path[-1] in above:
            del above[path[-1]]
            self.save()
        if _value(self.merged(), path) is not None:
            self.set(path, None)

    def rename(self, path: Path, name: str) -> None:
        """Gives a key of this file another name in the same place, and saves.

        Raises:
            KeyError: where this file does not have the key.
        """
        above = _value(self._tree, path[:-1])
        if not isinstance(above, CommentedMap) or path[-1] not in above:
            raise KeyError(path)
        place = list(above).index(path[-1])
        above.insert(place, name, above.pop(path[-1]))
        self.save()


def _value(tree: Mapping[str, Any], path: Path) -> Any:
    """The value at a path; None where there is none."""
    found: Any = tree
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found
