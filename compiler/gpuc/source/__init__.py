"""Text to Source: a cluster's file over the layers that it extends, where every value knows its place.

The rules of merging: layers are laid beneath the file first to last, what a layer extends beneath the layer, and a
file that is reached twice only where it was reached first. Maps merge by key, everything else is replaced. Of a merged
map the upper file's keys come first, in its order, then those that only lower files have. `null` over a key of a lower
file removes that key; any other null, and a key with nothing behind it, is a finding.
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
from gpuc.source.node import Flat

_kind = re.compile(rb"^kind:[ \t]*['\"]?(Cluster|Layer)['\"]?[ \t]*(?:#.*)?\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Source:
    """The merged text of one cluster."""

    file: str
    """The cluster's file, relative to the root, with forward slashes."""
    tree: dict[str, Any]
    """Plain data, without `extends`."""
    marks: dict[Path, Mark]
    """Where each value begins, by path; a map or list in block style begins with its first entry."""
    keys: dict[Path, Mark]
    """Where each key begins, by path."""
    raw: dict[Path, str]
    """The text of each number as it was written, by path."""
    files: tuple[str, ...]
    """Every file that was read: the cluster's, then its layers from the lowest up."""
    remarks: tuple[Finding, ...] = ()
    """Findings of this stage that are no errors."""

    def locate(self, path: Path, on_key: bool = False) -> Mark:
        """The place of a value, or of its key; of the deepest ancestor that was written where it was not."""
        if on_key and path in self.keys:
            return self.keys[path]
        while path not in self.marks:
            path = path[:-1]
        return self.marks[path]


def read(root: pathlib.Path, file: str) -> Source:
    """The source of a cluster.

    Raises:
        StageError: with everything that is wrong with the text of the file and of its layers.
    """
    layers = Layers(root)
    if not is_within(root / file, root / "specs"):
        raise StageError([OUTSIDE.at((), f"{file} lies outside of specs/", mark=Mark(file, 1, 1))])
    layers.gather(file)
    _stop_at_errors(layers)
    flat = Flat()
    tree = flat.add(layers.merged())
    _stop_at_errors(layers)
    files = (layers.order[-1], *layers.order[:-1])
    return Source(file, tree, flat.marks, flat.keys, flat.raw, files, tuple(layers.findings))


def cluster_files(root: pathlib.Path) -> list[str]:
    """The files in specs/ that are clusters, or cannot be read well enough to tell, sorted."""
    return [file for file in yaml_files(root) if _is_cluster(root, file)]


def _is_cluster(root: pathlib.Path, file: str) -> bool:
    """Whether a file has to be compiled: one line tells, only an unusual file is parsed."""
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
    ours = str(fields.get("apiVersion")).startswith("gpuc.dev/")
    kind = str(fields.get("kind"))
    return kind == "Cluster" or (ours and kind != "Layer")


def _stop_at_errors(layers: Layers) -> None:
    if any(finding.is_error for finding in layers.findings):
        raise StageError(layers.findings)
