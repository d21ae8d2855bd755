"""Edits a cluster's spec file and keeps its comments and the order of its keys."""

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
"""Longer than any line of a spec, so that no line is folded."""


class _Representer(RoundTripRepresenter):
    """Writes None as `null`, because the spec language does not allow a key without a value."""


_Representer.add_representer(
    type(None), lambda representer, value: representer.represent_scalar("tag:yaml.org,2002:null", "null")
)


class SpecFile:
    """A cluster's spec file in a working copy. Changes are written to this file, never to a layer."""

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
        """The saved content of the file, merged with its layers.

        Raises:
            StageError: if the text of the file or of a layer is invalid.
        """
        return read(self.root, self.file).tree

    def save(self) -> None:
        """Writes the file."""
        stream = StringIO()
        self._yaml.dump(self._tree, stream)
        self.path.write_text(stream.getvalue(), encoding="utf-8")

    def set(self, path: Path, value: object) -> None:
        """Sets a value and saves the file. Creates parent maps that only a layer has."""
        found: Any = self._tree
        for step in path[:-1]:
            if not isinstance(found.get(step), Mapping):
                found[step] = CommentedMap()
            found = found[step]
        found[path[-1]] = value
        self.save()

    def remove(self, path: Path) -> None:
        """Removes a key and saves the file. A null overrides the key if a layer has it.

        Raises:
            StageError: if the text of the file is invalid without the key.
        """
        above = _value(self._tree, path[:-1])
        if isinstance(above, CommentedMap) and path[-1] in above:
            del above[path[-1]]
            self.save()
        if _value(self.merged(), path) is not None:
            self.set(path, None)

    def rename(self, path: Path, name: str) -> None:
        """Renames a key of this file at the same position and saves the file.

        Raises:
            KeyError: if this file does not have the key.
        """
        above = _value(self._tree, path[:-1])
        if not isinstance(above, CommentedMap) or path[-1] not in above:
            raise KeyError(path)
        position = list(above).index(path[-1])
        above.insert(position, name, above.pop(path[-1]))
        self.save()


def _value(tree: Mapping[str, Any], path: Path) -> Any:
    """The value at a path, or None."""
    found: Any = tree
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return None
        found = found[step]
    return found
