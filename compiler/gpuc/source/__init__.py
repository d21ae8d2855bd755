"""Reads the spec of a cluster, merges it with its layers, and remembers the line and column of every value.

A value of the spec replaces the value of a layer. A value of a layer replaces the value of a layer that the layer
extends. It also replaces the value of a layer that is earlier in the same `extends`. If several files extend the same
layer, the layer counts only at its lowest position in this order.

Maps are merged by key; lists and scalars are replaced. A merged map first has the keys of the higher file, in their
order. Then the keys follow that only lower files have. `null` in a higher file removes the key of a lower file. Any
other null, and a key without a value, is a finding. In Helm values and patches, null is a value and replaces the value
of a lower file.
"""

import pathlib
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Path, StageError
from gpuc.documents.composer import Node
from gpuc.documents.fleet_files import KIND_LINE, yaml_files
from gpuc.source.document import compose
from gpuc.source.encoding import text_of
from gpuc.source.layers import OUTSIDE, Layers, is_within


class Source(Struct, frozen=True):
    """The spec of one cluster, merged with its layers, with the position of each value."""

    file: str
    """The spec file of the cluster, relative to the root, with forward slashes."""
    tree: dict[str, Any]
    """The merged spec as plain data, without `extends`."""
    marks: dict[Path, Mark]
    """Position of each value, by path. A map or list in block style has the position of its first entry."""
    keys: dict[Path, Mark]
    """Position of each key, by path."""
    raw: dict[Path, str]
    """The text of each number in the file, by path."""
    files: tuple[str, ...]
    """The spec file, then all layers from the lowest to the highest."""
    remarks: tuple[Finding, ...] = ()
    """The findings of this stage. None of them is an error, except in the result of `read_all`."""

    def locate(self, path: Path, on_key: bool = False) -> Mark:
        """Returns the position of a value or its key. A value that is in no file has the position of its map."""
        if on_key and path in self.keys:
            return self.keys[path]
        while path not in self.marks:
            path = path[:-1]
        return self.marks[path]

    def located(self, finding: Finding) -> Finding:
        """Returns the finding with its position in the file, and with the positions of its related values."""
        related = tuple(
            replace(place, mark=place.mark or self.locate(place.path, place.on_key)) for place in finding.related
        )
        return replace(finding, mark=finding.mark or self.locate(finding.path, finding.on_key), related=related)


def read(root: pathlib.Path, file: str) -> Source:
    """Reads the spec of a cluster and its layers, and merges them.

    Raises:
        StageError: with all findings about the files, if one of them is an error.
    """
    source = read_all(root, file)
    if any(finding.is_error for finding in source.remarks):
        raise StageError(source.remarks)
    return source


def read_all(root: pathlib.Path, file: str) -> Source:
    """Reads the spec of a cluster and its layers, and merges them, even if the files have findings.

    Raises:
        StageError: with all findings about the files, if gpuc cannot read and parse all of them.
    """
    layers = Layers(root)
    if not is_within(root / file, root / "specs"):
        raise StageError([OUTSIDE.at((), f"{file} is outside of specs/", mark=Mark(file, 1, 1))])
    layers.read(file)
    if not layers.is_complete:
        raise StageError(layers.findings)
    files = (layers.order[-1], *layers.order[:-1])
    return replace(source_of(layers.merged(), file), files=files, remarks=tuple(layers.findings))


def source_of(node: Node, file: str) -> Source:
    """Returns the content of a single file. Layers are not merged."""
    source = Source(file, {}, {}, {}, {}, (file,))
    return replace(source, tree=_plain(node, (), source))


def _plain(node: Node, path: Path, source: Source) -> Any:
    """Returns the plain data of the node at the path, and records the positions of its values and keys."""
    source.marks[path] = node.mark
    if isinstance(node.value, dict):
        for key, mark in node.keys.items():
            source.keys[(*path, key)] = mark
        return {key: _plain(child, (*path, key), source) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child, (*path, index), source) for index, child in enumerate(node.value)]
    if node.raw:
        source.raw[path] = node.raw
    return node.value


def cluster_files(root: pathlib.Path) -> list[str]:
    """Returns the sorted files in specs/ that describe a cluster. Files that gpuc cannot parse count as clusters."""
    return [file for file in yaml_files(root) if _is_cluster(root, file)]


def _is_cluster(root: pathlib.Path, file: str) -> bool:
    """Returns whether gpuc has to compile the file. Parses the file only if no line contains the kind."""
    try:
        kinds = KIND_LINE.findall((root / file).read_bytes())
        if kinds:
            return bool(kinds[0] == b"Cluster")
        document, _ = compose(text_of(root / file, file)[0], file)
    except (StageError, OSError):
        return True
    if document is None:
        return True
    fields = {key: child.value for key, child in document.value.items()}
    is_spec = str(fields.get("apiVersion")).startswith("gpuc.dev/")
    kind = str(fields.get("kind"))
    return kind == "Cluster" or (is_spec and kind != "Layer")
