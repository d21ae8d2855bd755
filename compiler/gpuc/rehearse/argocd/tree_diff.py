"""The objects that an edit of a spec changes, and whether the API server has the changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpuc.kubernetes.argocd import OPTIONS
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.examples import merge_patch
from gpuc.rehearse.read_back import differences
from gpuc.rehearse.substitute import simulated_document

ARGO_CD_API = "argoproj.io/"
"""API group of Applications and AppProjects. These objects can be in another cluster, the one of Argo CD."""
NO_PRUNE = "Prune=false"
_MAX_LENGTH = 120


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """The identity of an object."""

    api: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def address(self) -> tuple[str, str, str, str]:
        """The arguments of Client.find and Client.delete."""
        return self.api, self.kind, self.name, self.namespace


@dataclass(frozen=True)
class TreeDiff:
    """The differences between two compiled trees, limited to objects that Argo CD applies to the cluster."""

    written: tuple[Manifest, ...]
    """New and changed objects."""
    removed: tuple[Manifest, ...]
    fields: dict[ObjectKey, tuple[str, ...]]
    """The changed fields of each written object, with the old and the new value. Empty for a new object."""

    @property
    def pruned(self) -> tuple[ObjectKey, ...]:
        """Removed objects that Argo CD deletes."""
        return tuple(key_of(found) for found in self.removed if NO_PRUNE not in found.annotations.get(OPTIONS, ""))

    @property
    def unpruned(self) -> tuple[ObjectKey, ...]:
        """Removed objects with Prune=false. They stay in the cluster until an operator deletes them."""
        return tuple(key_of(found) for found in self.removed if NO_PRUNE in found.annotations.get(OPTIONS, ""))

    def summary(self, first: ObjectKey | None = None) -> str:
        """One line: the changes of one object, and the number of other changed objects."""
        lines = {key: f"{key}: {', '.join(paths) or 'new'}" for key, paths in self.fields.items()}
        lines |= {key_of(found): f"{key_of(found)}: removed" for found in self.removed}
        subject = first if first in lines else next(iter(lines), None)
        if subject is None:
            return ""
        others = len(lines) - 1
        return _short(lines[subject]) + (f", and {others} more objects" if others else "")


def key_of(manifest: Manifest) -> ObjectKey:
    """The key of an object."""
    return ObjectKey(manifest.api, manifest.kind, manifest.namespace, manifest.name)


def diff_trees(before: Iterable[Manifest], after: Iterable[Manifest]) -> TreeDiff:
    """The differences between two compiled trees."""
    old = {key_of(manifest): manifest for manifest in before if not manifest.api.startswith(ARGO_CD_API)}
    new = {key_of(manifest): manifest for manifest in after if not manifest.api.startswith(ARGO_CD_API)}
    written, fields = [], {}
    for key, manifest in new.items():
        known = old.get(key)
        if known is None or known.document() != manifest.document():
            written.append(manifest)
            fields[key] = () if known is None else tuple(_paths(known.document(), manifest.document()))
    return TreeDiff(tuple(written), tuple(manifest for key, manifest in old.items() if key not in new), fields)


def is_applied(client: Client, manifest: Manifest) -> bool:
    """Whether the live object has every field of the manifest, after the substitutions of the rehearsal."""
    stored = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace)
    if stored is None or stored["metadata"].get("deletionTimestamp"):
        return False
    return all(found.kind == "defaulted" for found in differences(simulated_document(manifest), stored))


def is_deleted(client: Client, key: ObjectKey) -> bool:
    """Whether the API server does not have the object."""
    return client.find(*key.address) is None


def _paths(before: Object, after: Object, above: str = "") -> list[str]:
    found = []
    for name, value in merge_patch(before, after).items():
        path, old = f"{above}.{name}" if above else name, before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            found += _paths(old, after[name], path)
        elif isinstance(value, list | dict) or isinstance(old, list | dict):
            found.append(path)
        else:
            found.append(f"{path} {_value(old)} -> {_value(value)}")
    return found


def _value(value: object) -> str:
    return "none" if value is None else str(value)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 3]}..."
