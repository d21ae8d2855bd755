"""Edits the spec file of a cluster in the working copy of a rehearsal."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.documents.reader import load_yaml
from gpuc.objects.object_set import dig
from gpuc.source import read


class SpecFile:
    """The spec file of a cluster in a working copy. Changes are written to this file as JSON, never to a layer."""

    def __init__(self, root: pathlib.Path, file: str) -> None:
        """Reads the file. root is the folder that contains specs/; file is a path relative to the root."""
        self.root = root
        self.file = file
        self._content: dict[str, Any] = load_yaml(self.path.read_text(encoding="utf-8"))

    @property
    def path(self) -> pathlib.Path:
        return self.root / self.file

    def merged(self) -> dict[str, Any]:
        """Returns the saved content of the file, merged with the layers.

        Raises:
            StageError: if the text of the file or of a layer is invalid.
        """
        return read(self.root, self.file).tree

    def set(self, path: Path, value: object) -> None:
        """Sets a value and saves the file. Creates parent maps that this file does not have."""
        parent: Any = self._content
        for step in path[:-1]:
            if not isinstance(parent.get(step), dict):
                parent[step] = {}
            parent = parent[step]
        parent[path[-1]] = value
        self._save()

    def remove(self, path: Path) -> None:
        """Removes a key and saves the file. If a layer has the key, the file sets the key to null.

        Raises:
            StageError: if the text of the file is invalid without the key.
        """
        parent = dig(self._content, *path[:-1])
        if isinstance(parent, dict) and path[-1] in parent:
            del parent[path[-1]]
            self._save()
        if dig(self.merged(), *path) is not None:
            self.set(path, None)

    def rename(self, path: Path, name: str) -> None:
        """Renames a key without a change of the order of keys, and saves the file.

        Raises:
            KeyError: if this file does not have the key.
        """
        parent = dig(self._content, *path[:-1])
        if not isinstance(parent, dict) or path[-1] not in parent:
            raise KeyError(path)
        entries = [(name if key == path[-1] else key, value) for key, value in parent.items()]
        parent.clear()
        parent.update(entries)
        self._save()

    def _save(self) -> None:
        self.path.write_text(f"{json.dumps(self._content, indent=2, ensure_ascii=False)}\n", encoding="utf-8")
