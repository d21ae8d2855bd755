"""Reads the spec file of a cluster and merges it with its layers. Every value keeps its place in the text.

Layers are merged in the order of `extends`: a later layer is above an earlier one, the file is above its layers, and
a layer is above the layers that it extends. A file that is reached twice counts only at its first position. Maps merge
by key; all other values are replaced. A merged map has first the keys of the upper file, in their order, then the keys
that only lower files have. `null` above a key of a lower file removes the key; any other null, and a key without a
value, is a finding.
"""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Finding, Mark, Path, StageError
from gpuc.source.document import compose
from gpuc.source.encoding import text_of
from gpuc.source.layers import OUTSIDE, Layers, is_within, yaml_files
from gpuc.source.node import PlainData

_kind = re.compile(rb"^kind:[ \t]*['\"]?(Cluster|Layer)['\"]?[ \t]*(?:#.*)?\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """The merged spec files of one cluster."""

    file: str
    """The spec file of the cluster, relative to the root, with forward slashes."""
    tree: dict[str, Any]
    """Plain data, without `extends`."""
    marks: dict[Path, Mark]
    """The place of each value, by path. A map or list in block style begins with its first entry."""
    keys: dict[Path, Mark]
    """The place of each key, by path."""
    raw: dict[Path, str]
    """The original text of each number, by path."""
    files: tuple[str, ...]
    """All files: the spec file, then its layers from the lowest to the highest."""
    remarks: tuple[Finding, ...] = ()
    """Findings of this stage that are not errors."""

    def locate(self, path: Path, on_key: bool = False) -> Mark:
        """Returns the place of a value or of its key. Values outside of the text have the place of an ancestor."""
        if on_key and path in self.keys:
            return self.keys[path]
        while path not in self.marks:
            path = path[:-1]
        return self.marks[path]


def read(root: pathlib.Path, file: str) -> Source:
    """Reads and merges the spec files of a cluster.

    Raises:
        StageError: with all findings about the text of the file and of its layers.
    """
    layers = Layers(root)
    if not is_within(root / file, root / "specs"):
        raise StageError([OUTSIDE.at((), f"{file} is outside of specs/", mark=Mark(file, 1, 1))])
    layers.gather(file)
    _stop_at_errors(layers)
    flat = PlainData()
    tree = flat.add(layers.merged())
    _stop_at_errors(layers)
    files = (layers.order[-1], *layers.order[:-1])
    return Source(file, tree, flat.marks, flat.keys, flat.raw, files, tuple(layers.findings))


def cluster_files(root: pathlib.Path) -> list[str]:
    """Returns the files in specs/ that are clusters or cannot be parsed, sorted."""
    return [file for file in yaml_files(root) if _is_cluster(root, file)]


def _is_cluster(root: pathlib.Path, file: str) -> bool:
    """Returns whether a file has to be compiled. Parses the file only if no line has its kind."""
    try:
        kinds = _kind.findall((root / file).read_bytes())
        if kinds:
            return bool(kinds[0] == b"Cluster")
        document, _ = compose(text_of(root / file, file)[0], file)
    except (StageError, OSError):
        return True
    if document is None:
        return True
    fields = {key: entry.value for key, entry in document.value.items()}
    is_spec = str(fields.get("apiVersion")).startswith("gpuc.dev/")
    kind = str(fields.get("kind"))
    return kind == "Cluster" or (is_spec and kind != "Layer")


def _stop_at_errors(layers: Layers) -> None:
    if any(finding.is_error for finding in layers.findings):
        raise StageError(layers.findings)
