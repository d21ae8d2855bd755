"""Reads the spec of a cluster and the layers that it extends, and merges them into one document."""

import pathlib
import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpuc.diagnostics.finding import Finding, Mark, Path, Rule, Severity, StageError, declare_rule, rule_table
from gpuc.diagnostics.free_form import is_free_form
from gpuc.diagnostics.spelling import alternatives, nearest
from gpuc.documents.composer import Node
from gpuc.documents.fleet_files import KIND_LINE, MANIFESTS, yaml_files
from gpuc.source.document import EMPTY, compose
from gpuc.source.encoding import text_of
from gpuc.source.moved import moved

API = "gpuc.dev/v1alpha1"
FILE_LIMIT = 64
_START = "write apiVersion, kind, metadata and spec; `gpuc init` in an empty folder writes an example"
_key_and_value = re.compile(r"([A-Za-z][\w./-]*)(?:(:)| +)(\S+)").fullmatch

rule_of = rule_table(__file__)
EXTENDS = rule_of("LAY001")
OUTSIDE = rule_of("LAY002")
MISSING = rule_of("LAY003")
CYCLE = rule_of("LAY004")
KIND = rule_of("LAY005")
VERSION = rule_of("LAY006")
METADATA = rule_of("LAY007")
REPLACED = rule_of("LAY008")
NAME = rule_of("LAY009")
TOO_MANY = declare_rule("LAY010", Severity.ERROR, "A cluster extends too many layers.",
    f"A cluster consists of at most {FILE_LIMIT} files.")  # fmt: skip
NULL = rule_of("YAML021")
NO_VALUE = "the value is missing; write a value or remove the key"
"""The message about a key without a value, which is not the word null."""


_OTHER_FILES = (EXTENDS, OUTSIDE, MISSING, CYCLE, KIND, VERSION, TOO_MANY)
"""Rules about a spec whose files are not the files that the user meant."""


class Layers:
    """The spec of one cluster and its layers, each read once, and the findings about these files."""

    def __init__(self, root: pathlib.Path) -> None:
        self.findings: list[Finding] = []
        self.order: list[str] = []
        """Files from the lowest layer to the cluster. A file that two files extend has its first position."""
        self.is_complete = True
        """Whether all files were read and parsed. There may be findings about single keys and values."""
        self._specs = root / "specs"
        self._root = root
        self._documents: dict[str, Node] = {}

    def read(self, file: str, chain: tuple[str, ...] = ()) -> None:
        """Reads a file and all layers that the file extends. Appends the layers and then the file to `order`.

        Args:
            chain: the files through which the cluster extends the file; empty for the spec of the cluster.
        """
        document = self._load(file)
        if document is None:
            return
        if not chain:
            self._check_cluster(document, file)
        for item in self._extended(document):
            layer = self._layer(item, (*chain, file))
            if layer and len(self._documents) < FILE_LIMIT:
                self.read(layer, (*chain, file))
            elif layer:
                self._add(TOO_MANY, item.mark, f"the cluster has more than {FILE_LIMIT} files")
                return
        if chain:
            self._check_layer(document)
        self.order.append(file)

    def merged(self) -> Node:
        """Returns the merged document. Maps are merged by key; other values replace values of earlier files."""
        top = self.order[-1]
        merged = Node(Mark(top, 1, 1), {})
        for file in self.order:
            document = self._documents[file]
            hidden = {"extends"} if file == top else {"extends", "apiVersion", "kind", "metadata"}
            shown = {key: child for key, child in document.value.items() if key not in hidden}
            merged = self._merge(merged, Node(document.mark, shown, document.keys), ())
        return merged

    def _load(self, file: str) -> Node | None:
        try:
            text, remarks = text_of(self._root / file, file)
        except StageError as stop:
            self.findings += stop.findings
            self.is_complete = False
            return None
        document, findings = compose(text, file)
        self.findings += [*remarks, *(replace(it, fix=_START) if it.id == EMPTY.id else it for it in findings)]
        if document is None:
            self.is_complete = False
        else:
            document, outdated = moved(document)
            self.findings += outdated
            self._documents[file] = document
        return document

    def _extended(self, document: Node) -> Iterator[Node]:
        """Yields the entries of extends that are strings."""
        node = document.value.get("extends")
        if node is None:
            return
        if not isinstance(node.value, list):
            fix = f"set extends to [{node.value}]" if isinstance(node.value, str) and node.value else ""
            self._add(EXTENDS, node.mark, "extends is not a list; expected a list of paths relative to specs/", fix)
            return
        for item in node.value:
            if isinstance(item.value, str) and item.value:
                yield item
            else:
                self._add(EXTENDS, item.mark, "an entry of extends is not a string; expected a path relative to specs/")

    def _layer(self, item: Node, chain: tuple[str, ...]) -> str | None:
        """Returns the file of an entry of extends, or None if the file is already read or the entry is wrong."""
        path = pathlib.PurePosixPath(item.value)
        file = f"specs/{path}"
        is_strange = path.is_absolute() or ".." in path.parts or "\\" in item.value
        if is_strange or not is_within(self._root / file, self._specs):
            self._add(OUTSIDE, item.mark, f"{item.value} is outside of specs/; expected a path below specs/")
        elif file in chain:
            cycle = " -> ".join((*chain[chain.index(file) :], file))
            self._add(CYCLE, item.mark, f"the layers extend each other in a cycle: {cycle}")
        elif not exists(self._root / file):
            self._add_missing(item, file)
        elif file not in self._documents and file not in self.order:
            return file
        return None

    def _add_missing(self, item: Node, file: str) -> None:
        """Reports a layer that does not exist, with the most similar layer, or else with the first layers."""
        existing = (layer for layer in yaml_files(self._root) if _is_layer(self._root / layer))
        layers = {layer.removeprefix("specs/").rpartition(".")[0]: layer.removeprefix("specs/") for layer in existing}
        suggestion = nearest(file.removeprefix("specs/").rpartition(".")[0], layers)
        fix = f"replace {item.value} by {layers[suggestion]}" if suggestion else ""
        self._add(MISSING, item.mark, f"{file} does not exist{alternatives(layers.values()) if not fix else ''}", fix)

    def _check_cluster(self, document: Node, file: str) -> None:
        kind = document.value.get("kind")
        if object_kind(document):
            message = f"the file is a Kubernetes {_text(kind)}; expected a spec with kind: Cluster"
            self._add(KIND, kind.mark, message, f"move the file to specs/<cluster>/{MANIFESTS}/")
            return
        if kind and kind.value == "Layer":
            message = "the file is a Layer, which gpuc compiles only as part of a cluster; expected a Cluster"
            self._add(KIND, kind.mark, message)
            return
        if kind and kind.value != "Cluster":
            fix = "write kind: Cluster" if nearest(_text(kind), ["Cluster"]) else ""
            self._add(KIND, kind.mark, f"the kind is {_text(kind)}; expected Cluster", fix)
        metadata = document.value.get("metadata")
        name = metadata.value.get("name") if metadata and isinstance(metadata.value, dict) else None
        stem = pathlib.PurePosixPath(file).stem
        if name and isinstance(name.value, str) and name.value != stem:
            message = f"the name of the cluster is {name.value}; expected {stem}, the name of its file"
            self._add(NAME, name.mark, message, f"set metadata.name to {stem}, or rename the file")

    def _check_layer(self, document: Node) -> None:
        kind, version = document.value.get("kind"), document.value.get("apiVersion")
        if kind is None or kind.value != "Layer":
            mark = kind.mark if kind else document.mark
            actual = f"the kind is {_text(kind)}" if kind else "the file has no kind"
            fix = "add kind: Layer" if kind is None else "write kind: Layer" if nearest(_text(kind), ["Layer"]) else ""
            self._add(KIND, mark, f"{actual}; expected Layer", fix)
            return
        if version is None or version.value != API:
            actual = f"the apiVersion is {_text(version)}" if version else "the layer has no apiVersion"
            fix = f"{'set apiVersion to' if version else 'add apiVersion:'} {API}"
            self._add(VERSION, version.mark if version else document.mark, f"{actual}; expected {API}", fix)
        if "metadata" in document.value:
            self._add(METADATA, document.keys["metadata"], "the layer has metadata; expected none", "remove metadata")

    def _merge(self, lower: Node, upper: Node, path: Path) -> Node:
        """Returns the upper node merged with the lower node. The keys of the upper map come first, in their order."""
        if not isinstance(upper.value, dict):
            if upper.value is not None and isinstance(lower.value, dict) and lower.value:
                message = f"key {path[-1]} replaces the complete map of a layer at {lower.mark}"
                self.findings.append(REPLACED.at(path, message, mark=upper.mark))
            self._refuse_nulls(upper, path)
            return upper
        below = lower.value if isinstance(lower.value, dict) else {}
        merged = Node(upper.mark, {})
        for key, child in upper.value.items():
            if child.value is None and child.raw and key in below and not is_free_form(path):
                continue
            merged.value[key] = self._merge(below.get(key, Node(child.mark, {})), child, (*path, key))
            merged.keys[key] = upper.keys[key]
        for key, child in below.items():
            if key not in upper.value:
                merged.value[key] = child
                merged.keys[key] = lower.keys[key]
        return merged

    def _refuse_nulls(self, node: Node, path: Path) -> None:
        """Reports every null in the node and below it, except in Helm values and patches."""
        if node.value is None and not (node.raw and is_free_form(path[:-1])):
            self.findings.append(_null(node, path))
        value = node.value
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, child in children:
            self._refuse_nulls(child, (*path, step))

    def _add(self, rule: Rule, mark: Mark, message: str, fix: str = "") -> None:
        self.findings.append(rule.at((), message, fix=fix, mark=mark))
        self.is_complete &= rule not in _OTHER_FILES


def _null(node: Node, path: Path) -> Finding:
    match = _key_and_value(str(path[-1])) if path and not node.raw else None
    if match:
        problem = f"a space is missing after the colon of {match[1]}" if match[2] else f"{match[1]} has no colon"
        return NULL.at(path, problem, fix=f"write {match[1]}: {match[3]}", mark=node.mark)
    return NULL.at(path, _problem_with_null(node, path), mark=node.mark)


def _problem_with_null(node: Node, path: Path) -> str:
    if not node.raw:
        return NO_VALUE
    if path and isinstance(path[-1], int):
        return f"an entry of a list is {node.raw}; write a value or remove the entry"
    return f"{path[-1]} is {node.raw}, but no layer has this key; write a value or remove the key"


def object_kind(document: Node) -> str:
    """Returns the kind of a Kubernetes object; an empty text for other documents and for a kustomization.yaml."""
    version, kind = (getattr(document.value.get(key), "value", None) for key in ("apiVersion", "kind"))
    if not isinstance(version, str) or not isinstance(kind, str) or kind in ("Cluster", "Layer"):
        return ""
    return "" if version.startswith(("gpuc.dev/", "kustomize.config.k8s.io/")) else kind


def _is_layer(path: pathlib.Path) -> bool:
    """Returns whether a line of the file is the kind of a layer."""
    try:
        return b"Layer" in KIND_LINE.findall(path.read_bytes())
    except OSError:
        return False


def is_within(path: pathlib.Path, folder: pathlib.Path) -> bool:
    """Returns whether the path is inside the folder after all symbolic links are resolved."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def exists(path: pathlib.Path) -> bool:
    """Returns whether a file or folder exists; False for a name that the file system does not allow."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _text(node: Node) -> str:
    return node.value if isinstance(node.value, str) and node.value else node.raw or "value of another type"
