"""Documents to the objects that judges know, and all that is no object said in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from compiler.finding import Finding, Path, Severity, fault
from compiler.lint.text import read
from compiler.manifest import Manifest

NO_OBJECT = fault(
    "LNT004",
    Severity.ERROR,
    "An object lacks its name, or its metadata is no map.",
    "The API server refuses it.",
)
_NOT_APPLIED = ("kustomize.config.k8s.io", "helm.toolkit.fluxcd.io", "test.gatekeeper.sh", "kind.x-k8s.io", "eksctl.io")
"""API groups of files that tools read and nobody applies."""


@dataclass
class Reading:
    """What stands in files."""

    manifests: list[Manifest] = field(default_factory=list)
    """Objects; the origin of each is (index of its document, then the path to it in that document)."""
    values: list[tuple[str, int, dict[str, Any]]] = field(default_factory=list)
    """Documents that are maps and no objects, such as Helm values: file, index, data."""
    findings: list[Finding] = field(default_factory=list)
    places: list[tuple[str, int, Path, str]] = field(default_factory=list)
    """Objects without a name: file, index of the document, path, what is wrong."""
    others: Counter[str] = field(default_factory=Counter)
    """What could not be judged, by sentence: how often."""

    def add(self, file: str, text: str) -> None:
        """Reads one file."""
        if "{{" in text and _is_template(text):
            self.others["a template, not YAML yet: render it and lint the result"] += 1
            return
        found = read(text, file)
        self.findings += found.findings
        for index, data in found.documents:
            for path, each in _objects(data):
                self._object(file, index, path, each)

    def _object(self, file: str, index: int, path: Path, data: Any) -> None:
        if not isinstance(data, dict):
            self.others["a document that is no map"] += 1
            return
        api, kind = data.get("apiVersion"), data.get("kind")
        if not isinstance(api, str) or not isinstance(kind, str):
            self.values.append((file, index, data))
            return
        if api.rpartition("/")[0] in _NOT_APPLIED:
            self.others[f"{kind} of {api}, which a tool reads and nobody applies"] += 1
            return
        metadata = data.get("metadata")
        name = metadata.get("name") or metadata.get("generateName") if isinstance(metadata, dict) else None
        if not isinstance(metadata, dict) or not isinstance(name, str):
            what = "has no name" if isinstance(metadata, dict) else "has no metadata"
            self.places.append((file, index, path, f"{kind} {what}"))
            return
        self.manifests.append(
            Manifest(
                file=file,
                origin=(index, *path),
                api=api,
                kind=kind,
                name=name if "name" in metadata else f"{name}x",
                namespace=str(metadata.get("namespace") or ""),
                labels=_texts(metadata.get("labels")),
                annotations=_texts(metadata.get("annotations")),
                body={key: _applied(value) for key, value in data.items() if key not in _ELSEWHERE},
            )
        )


_AMOUNTS = frozenset(
    ("limits", "requests", "hard", "capacity", "allocatable", "overhead", "default", "defaultRequest", "min", "max")
)
"""Maps from resources to quantities in the kinds of Kubernetes itself, whose tables only know that these are text."""
_ELSEWHERE = frozenset(("apiVersion", "kind", "metadata", "status"))


def _objects(data: Any) -> Iterator[tuple[Path, Any]]:
    """The document itself, or the items of a list of objects, as `kubectl get -o yaml` prints one."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items"), list):
        for number, item in enumerate(data["items"]):
            implied = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
            yield ("items", number), {**implied, **item} if isinstance(item, dict) and kind != "List" else item
    elif data is not None:
        yield (), data


def _applied(value: Any, name: str = "") -> Any:
    """A value as the API server takes it: a null in a map says nothing, and amounts of resources may be numbers."""
    if isinstance(value, dict):
        if name in _AMOUNTS:
            return {key: str(each) if _is_number(each) else each for key, each in value.items() if each is not None}
        return {key: _applied(each, key) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_applied(each) for each in value]
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


def _is_template(text: str) -> bool:
    """Whether braces stand where YAML cannot have them: at the start of a line or of a value."""
    return any(line.lstrip().startswith(("{{", "- {{")) or ": {{" in line for line in text.splitlines())
