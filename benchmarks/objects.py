"""The objects of a cluster: the objects that gpuc emits, and the objects in printed YAML."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpuc.manifest.manifest import Artifact, Manifest
from gpuc.pipeline.fleet import Fleet
from gpuc.pipeline.other_clusters import OtherClusters
from gpuc.pipeline.pipeline import compile_cluster
from gpuc.source import Source

Document = dict[str, Any]


@dataclass(frozen=True)
class Objects:
    """All Kubernetes objects of a cluster."""

    by_file: dict[str, list[Document]]
    """The objects in the order in which gpuc emits them, by file relative to the root."""
    kubernetes: str
    """The cluster's minor version, for example "1.35"."""

    @property
    def all(self) -> list[Document]:
        return [document for documents in self.by_file.values() for document in documents]


def emit_objects(root: Path, file: str) -> Objects:
    """Returns the objects that gpuc emits for a spec."""
    by_file: dict[str, list[Document]] = {}

    def collect(name: str, artifacts: Sequence[Artifact], source: Source) -> None:
        for artifact in artifacts:
            if isinstance(artifact, Manifest):
                by_file.setdefault(artifact.file, []).append(artifact.document())

    compiled, _ = compile_cluster(root, file, root, collect, Fleet(root), OtherClusters())
    return Objects(by_file, compiled.source.tree["spec"]["kubernetes"])


def write_objects(objects: Objects, path: Path) -> None:
    """Writes the objects as JSON, by file. The plain cdk8s program reads this JSON."""
    path.write_text(json.dumps(objects.by_file), encoding="utf-8")


def read_documents(text: str) -> list[Document]:
    """Returns the objects in a YAML stream, without empty documents."""
    return [document for document in yaml.load_all(text, Loader=yaml.CSafeLoader) if document]


def differences(expected: Iterable[Document], actual: Iterable[Document]) -> list[str]:
    """Returns missing objects as "- Kind name" and additional objects as "+ Kind name"."""
    expected_by_text, actual_by_text = _by_text(expected), _by_text(actual)
    missing = [f"- {_name(document)}" for text, document in expected_by_text.items() if text not in actual_by_text]
    added = [f"+ {_name(document)}" for text, document in actual_by_text.items() if text not in expected_by_text]
    return missing + added


def _by_text(documents: Iterable[Document]) -> dict[str, Document]:
    return {json.dumps(document, sort_keys=True, default=repr): document for document in documents}


def _name(document: Document) -> str:
    metadata = document.get("metadata", {})
    return f"{document.get('kind')} {metadata.get('namespace', '')}/{metadata.get('name')}"
