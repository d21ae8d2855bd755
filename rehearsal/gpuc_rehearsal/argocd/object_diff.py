"""Compares the compiled objects before and after an edit, and compares live objects with compiled objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpuc.cluster.application import sync_options
from gpuc.diagnostics.words import shortened
from gpuc.manifest.manifest import Manifest
from gpuc_rehearsal.apply import differences
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.examples import merge_patch
from gpuc_rehearsal.substitute import simulated_document

ARGO_CD_API = "argoproj.io/"
"""API group of Applications and AppProjects. These objects can be in a different cluster: the cluster of Argo CD."""
NO_PRUNE = "Prune=false"
_MAX_LENGTH = 120


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """API version, kind, namespace and name of an object. The namespace of a cluster-scoped object is empty."""

    api: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def address(self) -> tuple[str, str, str, str]:
        """The positional arguments of Client.find and Client.delete."""
        return self.api, self.kind, self.name, self.namespace


@dataclass(frozen=True)
class ObjectDiff:
    """The differences between the objects of two compiled specs, without Applications and AppProjects."""

    written: tuple[Manifest, ...]
    """New and changed objects."""
    removed: tuple[Manifest, ...]
    """Objects that only the earlier spec has."""
    fields: dict[ObjectKey, tuple[str, ...]]
    """Changed fields of the written objects as "path old -> new", by object. Empty for a new object."""

    @property
    def pruned(self) -> tuple[ObjectKey, ...]:
        """Removed objects that Argo CD deletes."""
        return tuple(key_of(manifest) for manifest in self.removed if not is_unpruned(manifest))

    @property
    def unpruned(self) -> tuple[ObjectKey, ...]:
        """Removed objects with Prune=false, which remain in the cluster until an operator deletes them."""
        return tuple(key_of(manifest) for manifest in self.removed if is_unpruned(manifest))

    def summary(self, subject: ObjectKey | None = None) -> str:
        """Returns one line with the changes of one object and the number of other changed objects.

        Without a subject, or if the subject is unchanged, the line describes the first changed object.
        """
        lines = {key: f"{key}: {', '.join(paths) or 'new'}" for key, paths in self.fields.items()}
        lines |= {key: f"{key}: removed" for key in map(key_of, self.removed)}
        described = subject if subject in lines else next(iter(lines), None)
        if described is None:
            return ""
        others = len(lines) - 1
        return shortened(lines[described], _MAX_LENGTH) + (f", and {others} more objects" if others else "")


def key_of(manifest: Manifest) -> ObjectKey:
    """Returns the key of an object."""
    return ObjectKey(manifest.api, manifest.kind, manifest.namespace, manifest.name)


def diff_objects(before: Iterable[Manifest], after: Iterable[Manifest]) -> ObjectDiff:
    """Returns the differences between the objects of two compiled specs."""
    old = {key_of(manifest): manifest for manifest in before if not manifest.api.startswith(ARGO_CD_API)}
    new = {key_of(manifest): manifest for manifest in after if not manifest.api.startswith(ARGO_CD_API)}
    written, fields = [], {}
    for key, manifest in new.items():
        earlier = old.get(key)
        if earlier is None or earlier.document() != manifest.document():
            written.append(manifest)
            fields[key] = () if earlier is None else tuple(_changed_fields(earlier.document(), manifest.document()))
    return ObjectDiff(tuple(written), tuple(manifest for key, manifest in old.items() if key not in new), fields)


def is_applied(client: Client, manifest: Manifest) -> bool:
    """Returns whether the live object has every field of the manifest, after the substitutions of the rehearsal.

    False if the object does not exist or is being deleted.
    """
    stored = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace)
    if stored is None or stored["metadata"].get("deletionTimestamp"):
        return False
    return all(difference.kind == "defaulted" for difference in differences(simulated_document(manifest), stored))


def is_deleted(client: Client, key: ObjectKey) -> bool:
    """Returns whether the object does not exist in the API server."""
    return client.find(*key.address) is None


def is_unpruned(manifest: Manifest) -> bool:
    """Returns whether Argo CD keeps an object that is removed from Git."""
    return NO_PRUNE in sync_options(manifest)


def _changed_fields(before: Object, after: Object, parent: str = "") -> list[str]:
    """Returns "path old -> new" for each changed field, and only the path for lists and maps."""
    result = []
    for name, value in merge_patch(before, after).items():
        path, old = f"{parent}.{name}" if parent else name, before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            result += _changed_fields(old, after[name], path)
        elif isinstance(value, list | dict) or isinstance(old, list | dict):
            result.append(path)
        else:
            result.append(f"{path} {_value(old)} -> {_value(value)}")
    return result


def _value(value: object) -> str:
    return "none" if value is None else str(value)
