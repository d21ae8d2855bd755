"""Finds the places of objects that Kustomizations build."""

import os
from collections.abc import Iterable, Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.documents.reader import read
from gpuc.documents.source_map import SourceMap
from gpuc.lint.load.build import Build
from gpuc.lint.load.files import UnreadableError, text_of
from gpuc.lint.load.kustomize import generated_objects, is_kustomization
from gpuc.lint.load.loaded_files import applied_body, objects_of
from gpuc.manifest.manifest import Manifest, manifest_of
from gpuc.objects.object_set import dig


class Places:
    """Finds the file and the path in it of the objects that Kustomizations build."""

    def __init__(self, source_map: SourceMap, manifests: Iterable[Manifest]) -> None:
        self._source_map = source_map
        self._names = {os.path.abspath(manifest.file): manifest.file for manifest in manifests}
        self._objects: dict[str, list[tuple[str, str, Path]]] = {}

    def manifest(self, build: Build, data: dict[str, Any]) -> Manifest | None:
        """Returns the object at the place in its own file: of the same kind, and with the closest name."""
        origin = _origin(build, data)
        api, kind, name = data.get("apiVersion"), data.get("kind"), dig(data, "metadata", "name")
        if not (isinstance(api, str) and isinstance(kind, str) and isinstance(name, str)):
            return None
        file = self._names.get(origin) or os.path.relpath(origin)
        if file not in self._objects:
            self._objects[file] = list(self._read(file))
        same = [row for row in self._objects[file] if row[0] == kind]
        best = max(same, key=lambda row: (row[1] == name, row[1] in name), default=(kind, name, (0,)))
        return manifest_of(data, file, best[2], applied_body(data), name)

    def _read(self, file: str) -> Iterator[tuple[str, str, Path]]:
        """Yields kind, name and path of the objects of a file, also of those that a Kustomization generates."""
        if not self._source_map.text(file):
            try:
                self._source_map.add(file, text_of(file))
            except UnreadableError:
                self._source_map.add(file, "")
        for index, data in read(self._source_map.text(file), file).documents:
            if isinstance(data, dict) and is_kustomization(file, data):
                generated = generated_objects([(file, index, data)])
                yield from ((manifest.kind, manifest.name, manifest.origin) for manifest in generated)
            else:
                for path, item in objects_of(data):
                    yield str(dig(item, "kind")), str(dig(item, "metadata", "name")), (index, *path)


def _origin(build: Build, data: dict[str, Any]) -> str:
    """Removes the annotation with the origin of an object, and returns the absolute path of the file that it names.

    Without an annotation the file is the Kustomization.
    """
    annotations = dig(data, "metadata", "annotations")
    text = annotations.pop("config.kubernetes.io/origin", "") if isinstance(annotations, dict) else ""
    if annotations == {}:
        del data["metadata"]["annotations"]
    named = dict(pair.partition(": ")[::2] for pair in str(text).splitlines())
    file = named.get("path") or named.get("configuredIn")
    return os.path.normpath(os.path.join(build.start, file)) if file else os.path.abspath(build.file)
