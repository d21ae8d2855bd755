"""A reference from one kind of object to another: how it is declared, and what is wrong with one that leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, NamedTuple

from gpuc.diagnostics.finding import Path, Rule, Severity, declare_rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig
from gpuc.objects.symbol_table import CLUSTER_SCOPED, Kind, kind_of

NOT_IN_THESE_FILES = declare_rule(
    "REF090",
    Severity.WARNING,
    "An object expects something that is in none of these files, although others of its kind are.",
    "Unless it is kept elsewhere, the reference leads nowhere: what depends on it waits, or has no effect.",
)
"""For files that somebody keeps, where something else may well make what is missing."""

ANY: Final = "*"
"""As a source: objects of every kind."""
POD: Final = "pod"
"""As a source: what has the metadata and spec of pods, wherever a kind keeps it."""
SAID: Final = "said"
"""As a target: the reference is a map that says group, kind and name itself."""
OWN: Final = "own"
"""As a namespace: that of the object that refers."""
ANYWHERE: Final = "anywhere"
"""As a namespace: some namespace."""


class Kept(Enum):
    """How sure it is, of files that somebody keeps, that what is missing among others of its kind is missing."""

    TOGETHER = "together"
    """Who keeps some of them keeps all: an error."""
    APART = "apart"
    """Programs make some: a warning where the same namespace has others."""
    ALL_OVER = "all over"
    """Charts and generators make them too: a warning only where a name is nearly that of another."""


class Reference(NamedTuple):
    """That objects of one kind name objects of another."""

    source: str
    """Who refers: "kueue.x-k8s.io/LocalQueue", a group with "/*", ANY or POD."""
    path: str
    """Where, as a pattern of compiler/gpuc/objects/paths.py."""
    target: str
    """What is meant: a kind as above, or SAID."""
    rule: Rule
    namespace: str = OWN
    """Where it is looked for: OWN, ANYWHERE, or the key beside the name that says it. Not for the cluster's scope."""
    when: tuple[str, str] = ("", "")
    """A key beside the name, and the value that it must have for this to be a reference."""


class Use(NamedTuple):
    """One place at which an object names another."""

    reference: Reference
    manifest: Manifest
    path: Path
    """Of the name, in the object's document."""
    kind: Kind
    name: str
    namespace: str
    """Empty for the cluster's scope, for any, and where a file does not say."""


_TOGETHER = frozenset(("karpenter.sh", "karpenter.k8s.aws", "kueue.x-k8s.io", "templates.gatekeeper.sh"))
_ALL_OVER = frozenset(
    kind_of(each)
    for each in (
        "node.k8s.io/RuntimeClass",
        "rbac.authorization.k8s.io/ClusterRole",
        "resource.k8s.io/DeviceClass",
        "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/StorageClass",
        "trainer.kubeflow.org/ClusterTrainingRuntime",
        "ConfigMap",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Secret",
        "ServiceAccount",
    )
)


def kept(kind: Kind) -> Kept:
    """How objects of a kind are kept."""
    if kind[0] in _TOGETHER:
        return Kept.TOGETHER
    return Kept.ALL_OVER if kind in _ALL_OVER else Kept.APART


def use(
    reference: Reference, manifest: Manifest, path: Path, value: Any, document: Any, under: Path = ()
) -> Use | None:
    """What a place that fits a reference names; None where it names nothing.

    Args:
        path: of the place in the document.
        under: where the document stands in the manifest's, if it is a part of it.
    """
    if reference.target == SAID:
        kind = _said(value)
        path, value, beside = (*path, "name"), dig(value, "name"), value
    else:
        kind = kind_of(reference.target)
        beside = dig(document, *_around(path))
    key, wanted = reference.when
    if kind is None or not is_name(value) or (key and dig(beside, key) != wanted) or dig(beside, "optional") is True:
        return None
    return Use(reference, manifest, (*under, *path), kind, value, _namespace(reference, kind, manifest, beside))


def judge(seen: Use, index: Index) -> Iterator[ObjectFinding]:
    """The finding of one use, where what it names does not exist."""
    register, is_complete = index.symbols, index.tree.is_complete
    if register.has(seen.kind, seen.name, seen.namespace) or not (is_complete or register.offers(seen.kind)):
        return
    here = register.within(seen.kind, seen.namespace)
    near = misspelt(seen.name, here) or _rehashed(seen.name, here)
    found = _fault(seen, is_complete=is_complete, others=bool(here), near=near)
    if found is not None:
        message = missing(f"the {seen.kind[1]}", seen.name, here, near)
        message += f" in namespace {seen.namespace}" if seen.namespace and not near and not here else ""
        where = register.offers(seen.kind).get(seen.name, set()) - {""}
        message += f"; namespace {min(where)} has one of that name" if where and not near else ""
        yield ObjectFinding(found, seen.manifest, seen.path, message, write(near))


def _rehashed(name: str, known: list[str]) -> str:
    """The one known name that is another with another hash of Kustomize at its end; empty without one."""
    stem = _HASHED.fullmatch(name)
    found = [each for each in known if stem and (other := _HASHED.fullmatch(each)) and other[1] == stem[1]]
    return found[0] if len(found) == 1 else ""


_HASHED = re.compile(r"(.+)-[2456789bcdfghkmt]{10}")
"""Names of generated ConfigMaps and Secrets: kustomize v5 api/internal/generators and api/hasher/hasher.go (encode)."""


def _fault(seen: Use, *, is_complete: bool, others: bool, near: str) -> Rule | None:
    if is_complete:
        return seen.reference.rule
    match kept(seen.kind):
        case Kept.TOGETHER:
            return seen.reference.rule if others else NOT_IN_THESE_FILES
        case Kept.APART:
            return NOT_IN_THESE_FILES if others else None
        case Kept.ALL_OVER:
            return NOT_IN_THESE_FILES if near else None


def _said(value: Any) -> Kind | None:
    """The kind that a typed reference says; the API version, where it stands for the group, loses its version."""
    kind = dig(value, "kind")
    for key in ("group", "apiGroup"):
        if isinstance(api_group := dig(value, key), str):
            return (api_group, kind) if isinstance(kind, str) else None
    version = dig(value, "apiVersion")
    api_group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return (api_group, kind) if isinstance(kind, str) else None


def _around(path: Path) -> Path:
    """The path of the map that holds the key that a path ends with, or ends with an item of."""
    end = len(path)
    while end and isinstance(path[end - 1], int):
        end -= 1
    return path[: max(end - 1, 0)]


def is_name(value: Any) -> bool:
    """Whether a value is a name, and not left open for a program that fills it in."""
    return isinstance(value, str) and bool(value) and not any(sign in value for sign in "${}<>")


def _namespace(reference: Reference, kind: Kind, manifest: Manifest, beside: Any) -> str:
    if kind in CLUSTER_SCOPED or reference.namespace == ANYWHERE:
        return ""
    if reference.namespace != OWN and isinstance(said := dig(beside, reference.namespace), str):
        return said
    return manifest.namespace
