"""From an edit of a spec to the objects that it changes, and whether the API server has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpuc.kubernetes.argocd import OPTIONS
from gpuc.manifest.manifest import Manifest
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.examples import changes
from gpuc.rehearse.read_back import differences
from gpuc.rehearse.substitute import simulated_document

OF_ARGO_CD = "argoproj.io/"
"""Applications and the AppProject live beside Argo CD, which may be in another cluster."""
UNPRUNED = "Prune=false"
_WORDS = 120


@dataclass(frozen=True, slots=True)
class Key:
    """What identifies an object."""

    api: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The arguments of Client.find and Client.delete."""
        return self.api, self.kind, self.name, self.namespace


@dataclass(frozen=True)
class Delta:
    """How two compiled trees differ, in the objects that Argo CD applies to the cluster."""

    written: tuple[Manifest, ...]
    """Objects that are new or have changed."""
    removed: tuple[Manifest, ...]
    fields: dict[Key, tuple[str, ...]]
    """What changed of each written object: paths with the old and the new value; empty for a new object."""

    @property
    def pruned(self) -> tuple[Key, ...]:
        """Removed objects that Argo CD deletes by itself: nothing on them keeps it from that."""
        return tuple(key_of(found) for found in self.removed if UNPRUNED not in found.annotations.get(OPTIONS, ""))

    @property
    def kept(self) -> tuple[Key, ...]:
        """Removed objects that stay until people delete them."""
        return tuple(key_of(found) for found in self.removed if UNPRUNED in found.annotations.get(OPTIONS, ""))

    def text(self, first: Key | None = None) -> str:
        """The changes in one line: those of one object, and how many others there are."""
        words = {key: f"{key}: {', '.join(paths) or 'new'}" for key, paths in self.fields.items()}
        words |= {key_of(found): f"{key_of(found)}: removed" for found in self.removed}
        subject = first if first in words else next(iter(words), None)
        if subject is None:
            return ""
        others = len(words) - 1
        return _short(words[subject]) + (f", and {others} more objects" if others else "")


def key_of(manifest: Manifest) -> Key:
    """The key of an object."""
    return Key(manifest.api, manifest.kind, manifest.namespace, manifest.name)


def delta(before: Iterable[Manifest], after: Iterable[Manifest]) -> Delta:
    """What Argo CD has to change in the cluster to come from one tree to the other."""
    old = {key_of(manifest): manifest for manifest in before if not manifest.api.startswith(OF_ARGO_CD)}
    new = {key_of(manifest): manifest for manifest in after if not manifest.api.startswith(OF_ARGO_CD)}
    written, fields = [], {}
    for key, manifest in new.items():
        known = old.get(key)
        if known is None or known.document() != manifest.document():
            written.append(manifest)
            fields[key] = () if known is None else tuple(_paths(known.document(), manifest.document()))
    return Delta(tuple(written), tuple(manifest for key, manifest in old.items() if key not in new), fields)


def has_arrived(client: Client, manifest: Manifest) -> bool:
    """Whether the API server has an object as it is written, as the rehearsal applies it."""
    stored = client.find(manifest.api, manifest.kind, manifest.name, manifest.namespace)
    if stored is None or stored["metadata"].get("deletionTimestamp"):
        return False
    return all(found.kind == "defaulted" for found in differences(simulated_document(manifest), stored))


def is_gone(client: Client, key: Key) -> bool:
    """Whether the API server does not have an object any more."""
    return client.find(*key.place) is None


def _paths(before: Object, after: Object, above: str = "") -> list[str]:
    found = []
    for name, value in changes(before, after).items():
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


def _short(words: str) -> str:
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 3]}..."
