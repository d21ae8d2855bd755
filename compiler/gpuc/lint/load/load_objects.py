"""Loads all objects below some paths, and describes the files and documents that could not be read."""

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from gpuc.diagnostics.finding import Mark, Path
from gpuc.documents.reader import DUPLICATE_KEY
from gpuc.documents.source_map import SourceMap
from gpuc.lint.load.files import files_below
from gpuc.lint.load.loaded_files import load_files
from gpuc.lint.unchecked import with_count
from gpuc.manifest.manifest import Body, Manifest

_SENTENCES_MAX = 10


class LoadedObjects(Struct):
    """The objects of some files, their lines and columns, and sentences about the documents that were not loaded."""

    manifests: list[Manifest] = field(default_factory=list)
    source_map: SourceMap = field(default_factory=SourceMap)
    unread: list[str] = field(default_factory=list)
    """One sentence for every file or document that could not be read."""
    not_objects: list[str] = field(default_factory=list)
    """Sentences about documents that are not Kubernetes objects, such as templates and patches, with their number."""

    def locate(self, manifest: Manifest, path: Path) -> Mark | None:
        """Returns the line and column of the value at a path of an object; None for objects without a file."""
        has_file = isinstance(manifest.origin[0], int)
        return self.source_map.mark(manifest.file, (*manifest.origin, *path)) if has_file else None

    def document(self, manifest: Manifest) -> Body:
        """Returns an object with its complete metadata: also owner references, finalizers and unknown fields.

        The result has no nulls, because the API server omits them.
        """
        document = manifest.document()
        origin = manifest.origin
        metadata = self.source_map.value(manifest.file, (*origin, "metadata")) if isinstance(origin[0], int) else None
        if not isinstance(metadata, dict):
            return document
        present = {key: value for key, value in metadata.items() if value is not None}
        return {**document, "metadata": {**document["metadata"], **present}}

    @property
    def unread_summary(self) -> Iterator[str]:
        """Sentences about the first files and documents that could not be read, and the number of the others."""
        yield from self.unread[:_SENTENCES_MAX]
        if len(self.unread) > _SENTENCES_MAX:
            yield f"and {len(self.unread) - _SENTENCES_MAX} more files or documents that could not be read"


def load_objects(paths: Iterable[str]) -> LoadedObjects:
    """Loads every file below the paths. Files and documents that cannot be read are skipped and described.

    Raises:
        UsageError: when a path does not exist.
    """
    loaded = LoadedObjects()
    files = load_files(dict.fromkeys(file for path in paths for file in files_below(path)), loaded.source_map)
    loaded.manifests = files.manifests
    loaded.unread = [f"{file} cannot be read: {reason}; the file is ignored" for file, reason in files.unreadable]
    consequences = {DUPLICATE_KEY.id: "the last value is used"}
    for finding in files.findings:
        consequence = consequences.get(finding.id, "this part of the file is ignored")
        loaded.unread.append(f"{finding.mark}: {finding.message}; {consequence}")
    for unnamed in files.unnamed:
        mark = loaded.source_map.mark(unnamed.file, unnamed.path)
        loaded.unread.append(f"{mark}: {unnamed.message}; the object is ignored")
    loaded.not_objects = [with_count(sentence, count) for sentence, count in files.unchecked.items()]
    return loaded
