"""Files to one document: what a cluster extends, merged beneath it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from gpuc.diagnostics.finding import Finding, Mark, Path, Rule, Severity, StageError, declare_rule
from gpuc.diagnostics.spelling import nearest, write
from gpuc.source.document import compose
from gpuc.source.encoding import text_of
from gpuc.source.node import Node

API = "gpuc.dev/v1alpha1"
FILE_LIMIT = 64

EXTENDS = declare_rule("LAY001", Severity.ERROR, "The value of extends is not a list of paths.",
    "Layers merge first to last, so they are a list, also when there is one.")  # fmt: skip
OUTSIDE = declare_rule(
    "LAY002", Severity.ERROR, "A file lies outside of specs/.",
    "What a cluster is made of has to be in the review: absolute paths, .. and links that lead out are refused.",
)  # fmt: skip
MISSING = declare_rule(
    "LAY003", Severity.ERROR, "A layer does not exist.", "The cluster would lack what the layer holds."
)
CYCLE = declare_rule("LAY004", Severity.ERROR, "A layer extends itself, directly or through others.",
    "There is no order in which they could merge.")  # fmt: skip
KIND = declare_rule(
    "LAY005", Severity.ERROR, "The kind of a file does not fit its use.",
    "A Cluster is compiled and extends Layers; a Layer is only extended, and nobody extends a Cluster.",
)  # fmt: skip
VERSION = declare_rule("LAY006", Severity.ERROR, "The apiVersion of a layer is unknown.",
    "Its keys may mean something else in that version.")  # fmt: skip
METADATA = declare_rule(
    "LAY007", Severity.ERROR, "A layer has metadata.", "A layer has no name: it would give it to every cluster."
)
REPLACED = declare_rule(
    "LAY008", Severity.INFO, "A map of a layer is replaced by a single value or a list.",
    "Everything that the layer says beneath that key is gone.",
)  # fmt: skip
NAME = declare_rule(
    "LAY009", Severity.ERROR, "The name of a cluster is not the name of its file.",
    "out/ and clusters/ are named after the cluster, findings after the file: one name for both.",
)  # fmt: skip
TOO_MANY = declare_rule("LAY010", Severity.ERROR, "A cluster extends too many layers.",
    f"At most {FILE_LIMIT} files make up a cluster.")  # fmt: skip
NULL = declare_rule(
    "YAML021", Severity.ERROR, "A key has no value.",
    "Nothing is ever null in a spec: a key is left out instead. Only over a layer's key null has a meaning: it "
    "removes that key.",
)  # fmt: skip


class Layers:
    """The files of one cluster, read once each, and what is wrong with them."""

    def __init__(self, root: pathlib.Path) -> None:
        self.findings: list[Finding] = []
        self.order: list[str] = []
        """Files from the lowest layer to the cluster; a file that is reached twice stands where it was first."""
        self._specs = root / "specs"
        self._root = root
        self._documents: dict[str, Node] = {}

    def gather(self, file: str, chain: tuple[str, ...] = ()) -> None:
        """Reads a file and, before it in the order, all that it extends."""
        document = self._load(file)
        if document is None:
            return
        if not chain:
            self._check_cluster(document, file)
        for item in self._extended(document):
            layer = self._layer(item, (*chain, file))
            if layer and len(self._documents) < FILE_LIMIT:
                self.gather(layer, (*chain, file))
            elif layer:
                self._add(TOO_MANY, item.mark, f"more than {FILE_LIMIT} files make up this cluster")
                return
        if chain:
            self._check_layer(document)
        self.order.append(file)

    def merged(self) -> Node:
        """One document: maps merged by key, everything else replaced, later files over earlier ones."""
        top = self.order[-1]
        merged = Node(Mark(top, 1, 1), {})
        for file in self.order:
            document = self._documents[file]
            hidden = {"extends"} if file == top else {"extends", "apiVersion", "kind", "metadata"}
            shown = {key: entry for key, entry in document.value.items() if key not in hidden}
            merged = self._lay(merged, Node(document.mark, shown, document.keys), ())
        return merged

    def _load(self, file: str) -> Node | None:
        try:
            text, remarks = text_of(self._root / file, file)
        except StageError as stop:
            self.findings += stop.findings
            return None
        document, findings = compose(text, file)
        self.findings += [*remarks, *findings]
        if document:
            self._documents[file] = document
        return document

    def _extended(self, document: Node) -> Iterator[Node]:
        node = document.value.get("extends")
        if node is None:
            return
        if not isinstance(node.value, list):
            fix = f"write [{node.value}]" if isinstance(node.value, str) and node.value else ""
            self._add(EXTENDS, node.mark, "extends takes a list of paths relative to specs/", fix)
            return
        for item in node.value:
            if isinstance(item.value, str) and item.value:
                yield item
            else:
                self._add(EXTENDS, item.mark, "this is not a path relative to specs/")

    def _layer(self, item: Node, chain: tuple[str, ...]) -> str | None:
        """The file that an entry of extends names, where it is one that has yet to be read."""
        path = pathlib.PurePosixPath(item.value)
        file = f"specs/{path}"
        if (
            path.is_absolute()
            or ".." in path.parts
            or "\\" in item.value
            or not is_within(self._root / file, self._specs)
        ):
            self._add(OUTSIDE, item.mark, f"{item.value} leads out of specs/; layers lie within")
        elif file in chain:
            way = " -> ".join((*chain[chain.index(file) :], file))
            self._add(CYCLE, item.mark, f"the layers extend one another in a circle: {way}")
        elif not exists(self._root / file):
            self._add(MISSING, item.mark, f"{file} does not exist", self._nearest(str(path)))
        elif file not in self._documents and file not in self.order:
            return file
        return None

    def _nearest(self, path: str) -> str:
        files = [file.removeprefix("specs/") for file in yaml_files(self._root)]
        return write(nearest(path, files))

    def _check_cluster(self, document: Node, file: str) -> None:
        kind = document.value.get("kind")
        if kind and kind.value != "Cluster":
            self._add(KIND, kind.mark, f"this is a {_text(kind)}; what is compiled is a Cluster")
        metadata = document.value.get("metadata")
        name = metadata.value.get("name") if metadata and isinstance(metadata.value, dict) else None
        stem = pathlib.PurePosixPath(file).stem
        if name and isinstance(name.value, str) and name.value != stem:
            self._add(NAME, name.mark, f"the cluster is named {name.value}, its file {stem}", "give both the same name")

    def _check_layer(self, document: Node) -> None:
        kind, version = document.value.get("kind"), document.value.get("apiVersion")
        if kind is None or kind.value != "Layer":
            place = kind.mark if kind else document.mark
            seen = f"this is a {_text(kind)}" if kind else "this file has no kind"
            self._add(KIND, place, f"{seen}; what is extended is a Layer", "write kind: Layer" if kind is None else "")
            return
        if version is None or version.value != API:
            seen = f"the apiVersion is {_text(version)}" if version else "this layer has no apiVersion"
            self._add(VERSION, version.mark if version else document.mark, f"{seen}; known is {API}", f"write {API}")
        if "metadata" in document.value:
            self._add(METADATA, document.keys["metadata"], "a layer has no metadata", "remove it")

    def _lay(self, lower: Node, upper: Node, path: Path) -> Node:
        """The upper node over the lower one; of a map, the upper one's order of keys comes first."""
        if not isinstance(upper.value, dict):
            if upper.value is not None and isinstance(lower.value, dict) and lower.value:
                message = f"{path[-1]} replaces the whole map of {lower.mark}"
                self.findings.append(REPLACED.at(path, message, mark=upper.mark))
            self._refuse_nulls(upper, path)
            return upper
        below = lower.value if isinstance(lower.value, dict) else {}
        merged = Node(upper.mark, {})
        for key, entry in upper.value.items():
            if entry.value is None and entry.raw and key in below:
                continue
            merged.value[key] = self._lay(below.get(key, Node(entry.mark, {})), entry, (*path, key))
            merged.keys[key] = upper.keys[key]
        for key, entry in below.items():
            if key not in upper.value:
                merged.value[key] = entry
                merged.keys[key] = lower.keys[key]
        return merged

    def _refuse_nulls(self, node: Node, path: Path) -> None:
        if node.value is None:
            seen = f"{node.raw} stands here, but no layer has this key" if node.raw else "there is no value here"
            self.findings.append(NULL.at(path, f"{seen}; a key without a value is left out", mark=node.mark))
        children = (
            node.value.items()
            if isinstance(node.value, dict)
            else enumerate(node.value)
            if isinstance(node.value, list)
            else ()
        )
        for step, entry in children:
            self._refuse_nulls(entry, (*path, step))

    def _add(self, trap: Rule, mark: Mark, message: str, fix: str = "") -> None:
        self.findings.append(trap.at((), message, fix=fix, mark=mark))


def yaml_files(root: pathlib.Path) -> list[str]:
    """Every YAML file in specs/, relative to the root, sorted; hidden files and folders not."""
    found = (
        place.relative_to(root)
        for place in (root / "specs").rglob("*")
        if place.suffix in (".yaml", ".yml") and not place.is_dir()
    )
    return sorted(file.as_posix() for file in found if not any(part.startswith(".") for part in file.parts))


def is_within(place: pathlib.Path, folder: pathlib.Path) -> bool:
    """Whether a place lies in a folder when all symbolic links are followed."""
    try:
        return place.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def exists(place: pathlib.Path) -> bool:
    """Whether something stands at a place, also for names that no file system takes."""
    try:
        return place.exists()
    except (OSError, ValueError):
        return False


def _text(node: Node) -> str:
    return node.value if isinstance(node.value, str) and node.value else node.raw or "value of another type"
