"""Edits the spec file of a cluster without changes to comments and to the order of keys."""

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
    """The spec file of a cluster in a working copy. Changes are written to this file, never to a layer."""

    def __init__(self, root: pathlib.Path, file: str) -> None:
        """Reads the file. root is the folder that contains specs/; file is a path relative to the root."""
        self.root = root
        self.file = file
        self._yaml = YAML()
        self._yaml.Representer = _Representer
        self._yaml.indent(mapping=2, sequence=4, offset=2)
        self._yaml.preserve_quotes = True
        self._yaml.width = WIDTH
        self._content: CommentedMap = self._yaml.load(self.path.read_text(encoding="utf-8"))

    @property
    def path(self) -> pathlib.Path:
        return self.root / self.file

    def merged(self) -> dict[str, Any]:
        """Returns the saved content of the file, merged with the layers.

        Raises:
            StageError: if the text of the file or of a layer is invalid.
        """
        return read(self.root, self.file).tree

    def save(self) -> None:
        """Writes the file."""
        stream = StringIO()
        self._yaml.dump(self._content, stream)
        self.path.write_text(stream.getvalue(), encoding="utf-8")

    def set(self, path: Path, value: object) -> None:
        """Sets a value and saves the file. Creates parent maps that this file does not have."""
        parent: Any = self._content
        for step in path[:-1]:
            if not isinstance(parent.get(step), Mapping):
                parent[step] = CommentedMap()
            parent = parent[step]
        parent[path[-1]] = value
        self.save()

    def remove(self, path: Path) -> None:
        """Removes a key and saves the file. If a layer has the key, the file sets the key to null.

        Raises:
            StageError: if the text of the file is invalid without the key.
        """
        parent = _value(self._content, path[:-1])
        if isinstance(parent, CommentedMap) and path[-1] in parent:
            del parent[path[-1]]
            self.save()
        if _value(self.merged(), path) is not None:
            self.set(path, None)

    def rename(self, path: Path, name: str) -> None:
        """Renames a key without a change of the order of keys, and saves the file.

        Raises:
            KeyError: if this file does not have the key.
        """
        parent = _value(self._content, path[:-1])
        if not isinstance(parent, CommentedMap) or path[-1] not in parent:
            raise KeyError(path)
        position = list(parent).index(path[-1])
        parent.insert(position, name, parent.pop(path[-1]))
        self.save()


def _value(content: Mapping[str, Any], path: Path) -> Any:
    """Returns the value at a path, or None if the path does not exist."""
    value: Any = content
    for step in path:
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value
