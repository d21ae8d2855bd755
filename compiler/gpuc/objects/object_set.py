"""A tree of objects by what they are, as judges look things up in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

from gpuc.manifest.manifest import Artifact, Manifest, Values

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that the API server gives every namespace."""
Key = tuple[str, str, str, str]
"""API group, kind, namespace, name."""


class ObjectSet:
    """All objects that are judged together, and the values of the charts that run beside them."""

    def __init__(
        self,
        manifests: Iterable[Manifest],
        *,
        is_complete: bool,
        values: Mapping[str, Any] | None = None,
        value_files: Iterable[str] | None = None,
        documents: Mapping[str, Any] | None = None,
    ) -> None:
        self.manifests = tuple(manifests)
        self.values: Mapping[str, Any] = values or {}
        """Helm values by the name of their chart; a chart that is not here may still be installed."""
        self.value_files = None if value_files is None else frozenset(value_files)
        """All files of values beside the objects; None where nobody says which there are."""
        self.documents: Mapping[str, Any] = documents or {}
        """Documents of texts that are YAML themselves, by the text, as far as somebody knows them already."""
        self.is_complete = is_complete
        """Whether this is all that a cluster is given: what is not here is nowhere. Of files that somebody keeps, other
        parts may live elsewhere; there only what contradicts the tree itself is a finding."""

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], list[Manifest]]:
        found: dict[tuple[str, str], list[Manifest]] = {}
        for manifest in self.manifests:
            found.setdefault((group(manifest), manifest.kind), []).append(manifest)
        return found

    @cached_property
    def _by_key(self) -> dict[Key, Manifest]:
        return {(group(each), each.kind, each.namespace, each.name): each for each in self.manifests}

    def of(self, api_group: str, kind: str) -> list[Manifest]:
        """The objects of a kind, whatever their version; the core group is the empty text."""
        return self._by_kind.get((api_group, kind), [])

    def find(self, api_group: str, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """One object, None where the tree does not have it."""
        return self._by_key.get((api_group, kind, namespace, name))

    def has(self, api_group: str, kind: str) -> bool:
        """Whether the set has an object of a kind. A part of a cluster may have none; that is not a finding."""
        return (api_group, kind) in self._by_kind

    @cached_property
    def namespaces(self) -> dict[str, dict[str, str]]:
        """Labels of every namespace of the tree by its name, with the one that the API server adds."""
        return {each.name: {NAMESPACE_NAME: each.name, **labels(each.labels)} for each in self.of("", "Namespace")}


def emitted(artifacts: Iterable[Artifact]) -> ObjectSet:
    """All that a compile emits for a cluster."""
    found = list(artifacts)
    values = [each for each in found if isinstance(each, Values)]
    return ObjectSet(
        (each for each in found if isinstance(each, Manifest)),
        is_complete=True,
        values={each.component: each.body for each in values},
        value_files=[each.file for each in values],
        documents={text: document for each in values for text, document in each.embedded.items()},
    )


def group(manifest: Manifest) -> str:
    """The API group of an object."""
    return manifest.api.rpartition("/")[0]


def dig(value: Any, *path: str | int) -> Any:
    """The value at a path of plain data that may have any shape; None where there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def items(value: Any) -> Iterator[tuple[int, Any]]:
    """Index and item of a list; nothing for everything else."""
    return iter(enumerate(value if isinstance(value, list) else ()))


def pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Key and value of a map; nothing for everything else."""
    return iter(value.items() if isinstance(value, dict) else ())


def labels(value: Any) -> dict[str, str]:
    """The labels of a map; the API server refuses those that are no texts."""
    return {key: text for key, text in pairs(value) if isinstance(key, str) and isinstance(text, str)}
