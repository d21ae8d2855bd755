"""The objects of a cluster: those that gpuc emits, and those that are read from printed YAML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.pipeline.pipeline import compile_cluster
from gpuc.source import Source

Document = dict[str, Any]


@dataclass(frozen=True)
class Objects:
    """All Kubernetes objects of a cluster."""

    by_file: dict[str, list[Document]]
    """Objects in emitted order, by file relative to the root."""
    kubernetes: str
    """The cluster's minor version, for example "1.35"."""

    @property
    def all(self) -> list[Document]:
        return [document for documents in self.by_file.values() for document in documents]


def emit_objects(root: Path, file: str) -> Objects:
    """The objects that gpuc emits for a spec."""
    by_file: dict[str, list[Document]] = {}

    def take(name: str, artifacts: Sequence[Artifact], source: Source) -> None:
        for artifact in artifacts:
            if isinstance(artifact, Manifest):
                by_file.setdefault(artifact.file, []).append(artifact.document())

    compiled, _ = compile_cluster(root, file, root, take)
    return Objects(by_file, compiled.source.tree["spec"]["kubernetes"])


def write_objects(objects: Objects, path: Path) -> None:
    """Writes the objects by file as JSON, the input of the plain cdk8s program."""
    path.write_text(json.dumps(objects.by_file), encoding="utf-8")


def read_documents(text: str) -> list[Document]:
    """The objects in a YAML stream, without empty documents."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def differences(expected: Iterable[Document], actual: Iterable[Document]) -> list[str]:
    """Missing objects as "- Kind name" and additional objects as "+ Kind name"; empty if there is no difference."""
    wanted, found = _by_text(expected), _by_text(actual)
    lost = [f"- {_name(wanted[text])}" for text in wanted if text not in found]
    added = [f"+ {_name(found[text])}" for text in found if text not in wanted]
    return lost + added


def _by_text(documents: Iterable[Document]) -> dict[str, Document]:
    return {json.dumps(document, sort_keys=True, default=repr): document for document in documents}


def _name(document: Document) -> str:
    metadata = document.get("metadata", {})
    return f"{document.get('kind')} {metadata.get('namespace', '')}/{metadata.get('name')}"
