"""Documents to the objects that judges know, and all that is no object said in a sentence."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpuc.diagnostics.finding import Finding, Path, Severity, declare_rule
from gpuc.lint.load.kustomize import generated, is_kustomization, is_left_patch, parts
from gpuc.lint.load.text import UNREADABLE, Text, read
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding

NO_OBJECT = declare_rule(
    "LNT004",
    Severity.ERROR,
    "An object lacks its name, or its metadata is no map.",
    "The API server refuses it.",
)
REPEATED = declare_rule(
    "LNT006",
    Severity.WARNING,
    "One object stands twice in a file.",
    "Both are applied, and whichever comes last wins; Argo CD refuses to choose.",
)
NO_LABELS = declare_rule(
    "LNT007",
    Severity.ERROR,
    "Labels or annotations are no map.",
    "The API server refuses the object.",
)
_FILES_OF_TOOLS = ("test.gatekeeper.sh", "kind.x-k8s.io", "eksctl.io")
"""API groups of files that tools read and nobody applies."""
_AMOUNTS = frozenset(
    (
        "limits", "requests", "hard", "capacity", "allocatable", "overhead", "default", "defaultRequest", "min", "max",
        "maxLimitRequestRatio",
    )
)  # fmt: skip
"""Maps from resources to quantities in the kinds of Kubernetes itself, whose tables only know that these are text."""
_AMOUNT = frozenset(("sizeLimit", "divisor", "averageValue"))
"""Quantities alone, in the same kinds; "value" of a "target", as HorizontalPodAutoscalers have it, is another."""
_WORD = {list: "a list", str: "a text", int: "a number", float: "a number", bool: "a boolean"}
_ELSEWHERE = frozenset(("apiVersion", "kind", "metadata", "status"))


@dataclass(frozen=True, slots=True)
class Nameless:
    """An object that says its kind and has no name."""

    file: str
    index: int
    """Of its document in the file."""
    path: Path
    api: str
    kind: str
    message: str
    data: dict[str, Any]


@dataclass
class Reading:
    """What stands in files."""

    manifests: list[Manifest] = field(default_factory=list)
    """Objects; the origin of each is (index of its document, then the path to it in that document)."""
    values: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)
    """Documents that are maps and no objects, such as Helm values: file, index, data."""
    tools: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)
    """Kustomizations, in the same form."""
    findings: list[Finding] = field(default_factory=list)
    nameless: list[Nameless] = field(default_factory=list)
    object_findings: list[ObjectFinding] = field(default_factory=list)
    """What is wrong with the form of objects."""
    others: Counter[str] = field(default_factory=Counter)
    """What could not be judged, by sentence: how often."""
    _seen: set[tuple[str, ...]] = field(default_factory=set)

    def add(self, file: str, text: str) -> None:
        """Reads one file."""
        found = read(text, file)
        if ("{{" in text or "{%" in text) and _is_template(text, found):
            self.others["templates, no YAML yet: render them and lint the result"] += 1
            return
        self.findings += found.findings
        for index, data in found.documents:
            for path, each in _objects(data):
                self._object(file, index, path, each)

    def settle(self) -> None:
        """Takes Kustomizations at their word, once all files were read: patches go, generated objects come."""
        if not self.tools:
            return
        self.others["Kustomizations, whose changes are not made here: lint what `kubectl kustomize` prints"] += len(
            self.tools
        )
        apart = parts(self.tools)
        apart |= {
            os.path.abspath(file) for file in {each.file for each in self.manifests} if is_left_patch(file, self.tools)
        }
        kept = [each for each in self.manifests if os.path.abspath(each.file) not in apart]
        gone = {each.file for each in self.manifests} - {each.file for each in kept}
        self.manifests = [*kept, *generated(self.tools)]
        self.nameless = [each for each in self.nameless if os.path.abspath(each.file) not in apart]
        self.object_findings = [
            finding for finding in self.object_findings if os.path.abspath(finding.manifest.file) not in apart
        ]
        self.values = [each for each in self.values if os.path.abspath(each[0]) not in apart]
        if gone:
            self.others[_PATCH] += len(gone)

    def _object(self, file: str, index: int, path: Path, data: Any) -> None:
        if not isinstance(data, dict):
            self.others["documents that are no maps"] += 1
            return
        api, kind = data.get("apiVersion"), data.get("kind")
        if is_kustomization(file, data):
            self.tools.append((file, index, data))
            return
        if not isinstance(api, str) or not isinstance(kind, str):
            self.values.append((file, index, data))
            return
        if api.rpartition("/")[0] in _FILES_OF_TOOLS:
            self.others[f"{kind} of {api}, which a tool reads and nobody applies"] += 1
            return
        if "$patch" in data:
            self.others[_PATCH] += 1
            return
        metadata = data.get("metadata")
        name = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str):
            self.nameless.append(_nameless(file, index, path, data))
            return
        self.manifests.append(_manifest(file, (index, *path), metadata, data))
        self.object_findings += self._odd(self.manifests[-1], metadata)

    def _odd(self, manifest: Manifest, metadata: dict[str, Any]) -> Iterator[ObjectFinding]:
        for name in ("labels", "annotations"):
            if not isinstance(metadata.get(name) or {}, dict):
                yield ObjectFinding(
                    NO_LABELS, manifest, ("metadata", name), f"a map is needed, this is {_WORD[type(metadata[name])]}"
                )
        if "name" not in metadata:
            return  # the API server makes a name for each
        key = manifest.file, manifest.api.rpartition("/")[0], manifest.kind, manifest.namespace, manifest.name
        if key in self._seen:
            yield ObjectFinding(REPEATED, manifest, ("metadata", "name"), "the same object stands in this file already")
        self._seen.add(key)


def _nameless(file: str, index: int, path: Path, data: dict[str, Any]) -> Nameless:
    """An object without a name, or whose name YAML takes for something else than text: `on`, 12, 1.5."""
    api, kind, metadata = data["apiVersion"], data["kind"], data.get("metadata")
    if not isinstance(metadata, dict):
        message = f"{kind} has no metadata"
    elif isinstance(name := metadata.get("name"), bool | int | float):
        path = (*path, "metadata", "name")
        message = f"the name of this {kind} is read as {json.dumps(name)}, which is no text: put it in quotes"
    else:
        message = f"{kind} has no name"
    return Nameless(file, index, path, api, kind, message, data)


_PATCH = "patches of Kustomize, which are no objects of their own"


def _manifest(file: str, origin: Path, metadata: dict[str, Any], data: dict[str, Any]) -> Manifest:
    api, name = data["apiVersion"], metadata.get("name")
    is_core = "." not in api.rpartition("/")[0]
    body = {key: value for key, value in data.items() if key not in _ELSEWHERE}
    return Manifest(
        file=file,
        origin=origin,
        api=api,
        kind=data["kind"],
        name=name if name else f"{metadata['generateName']}x",
        namespace=str(metadata.get("namespace") or ""),
        labels=_texts(metadata.get("labels")),
        annotations=_texts(metadata.get("annotations")),
        body=_applied(body, is_core),
    )


def _objects(data: Any) -> Iterator[tuple[Path, Any]]:
    """The document itself, or the items of a list of objects, as `kubectl get -o yaml` prints one."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items"), list):
        for number, item in enumerate(data["items"]):
            implied = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
            yield ("items", number), {**implied, **item} if isinstance(item, dict) and kind != "List" else item
    elif data is not None:
        yield (), data


def _applied(value: Any, is_core: bool, name: str = "") -> Any:
    """A value as the API server takes it: a null in a map says nothing, and amounts of resources may be numbers.

    Args:
        is_core: whether the object is of a kind of Kubernetes itself; tables of all others know which values are
            quantities, and a number elsewhere is what it is.
    """
    if isinstance(value, dict):
        if is_core and name in _AMOUNTS:
            return {key: str(each) if _is_number(each) else each for key, each in value.items() if each is not None}
        inner = {"value": "averageValue"} if name == "target" else {}
        return {key: _applied(each, is_core, inner.get(key) or key) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_applied(each, is_core) for each in value]
    return str(value) if is_core and name in _AMOUNT and _is_number(value) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _is_template(text: str, found: Text) -> bool:
    """Whether braces stand where YAML cannot have them; texts of blocks and quotes may hold them."""
    if not any(line.lstrip().startswith(("{{", "- {{", "{%")) or ": {{" in line for line in text.splitlines()):
        return False
    return any(each.id == UNREADABLE.id for each in found.findings) or any(
        _has_odd_key(data) for _, data in found.documents
    )


def _has_odd_key(value: Any) -> bool:
    """Whether a map has a map as its key, which is what YAML makes of braces in braces."""
    if isinstance(value, dict):
        return "?" in value or any(_has_odd_key(each) for each in value.values())
    return isinstance(value, list) and any(_has_odd_key(each) for each in value)
