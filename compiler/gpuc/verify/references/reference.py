"""References between objects: their declaration, and the check that the named object exists."""

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
    "An object refers to an object that is not in these files, although others of that kind are.",
    "Unless the object is kept elsewhere, the reference is broken: whatever depends on it waits or has no effect.",
)
"""For incomplete input, where the missing object may be created by something else."""

ANY: Final = "*"
"""A source: objects of every kind."""
POD: Final = "pod"
"""A source: pods and all pod templates."""
TYPED: Final = "typed"
"""A target: the reference is a map that has group, kind and name."""
SAME_NAMESPACE: Final = "same"
"""A namespace: the namespace of the object that refers."""
ANY_NAMESPACE: Final = "any"
"""A namespace: the object may be in any namespace."""


class Confidence(Enum):
    """How certain it is, for incomplete input with other objects of a kind, that an object of that kind is missing."""

    CERTAIN = "certain"
    """A repository has either all objects of the kind or none: an error."""
    LIKELY = "likely"
    """Programs create some objects of the kind: a warning if the same namespace has others."""
    ONLY_IF_MISSPELLED = "only if misspelled"
    """Charts and generators create objects of the kind: a warning only if the name resembles another name."""


class Reference(NamedTuple):
    """A field in which objects of one kind refer to objects of another kind."""

    source: str
    """The kind that has the field: "kueue.x-k8s.io/LocalQueue", a group with "/*", ANY or POD."""
    path: str
    """The path of the field, as a pattern of compiler/gpuc/objects/paths.py."""
    target: str
    """The kind of the named object, in the same form, or TYPED."""
    rule: Rule
    namespace: str = SAME_NAMESPACE
    """The namespace of the named object: SAME_NAMESPACE, ANY_NAMESPACE, or the key beside the name that has it.

    Cluster-scoped kinds ignore it."""
    when: tuple[str, str] = ("", "")
    """A key beside the name, and the value of that key: with any other value the field is not a reference."""


class ObjectReference(NamedTuple):
    """One object refers to another by name."""

    reference: Reference
    manifest: Manifest
    path: Path
    """The path of the name in the object that refers."""
    kind: Kind
    name: str
    namespace: str
    """Empty for cluster-scoped kinds, for any namespace, and if the file has no namespace."""


_CERTAIN_GROUPS = frozenset(("karpenter.sh", "karpenter.k8s.aws", "kueue.x-k8s.io", "templates.gatekeeper.sh"))
_OFTEN_GENERATED = frozenset(
    kind_of(kind)
    for kind in (
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


def confidence_of(kind: Kind) -> Confidence:
    """How certain it is that an object of a kind is missing."""
    if kind[0] in _CERTAIN_GROUPS:
        return Confidence.CERTAIN
    return Confidence.ONLY_IF_MISSPELLED if kind in _OFTEN_GENERATED else Confidence.LIKELY


def object_reference(
    reference: Reference, manifest: Manifest, path: Path, value: Any, document: Any, under: Path = ()
) -> ObjectReference | None:
    """Returns the reference at a field of a document; None if the field refers to no object.

    Args:
        path: the path of the field in the document.
        value: the value of the field.
        document: the object, or the pod template in it.
        under: the path of the document in the object.
    """
    if reference.target == TYPED:
        kind = _typed_kind(value)
        path, value, beside = (*path, "name"), dig(value, "name"), value
    else:
        kind = kind_of(reference.target)
        beside = dig(document, *_around(path))
    key, wanted = reference.when
    if kind is None or not is_name(value) or (key and dig(beside, key) != wanted) or dig(beside, "optional") is True:
        return None
    return ObjectReference(
        reference, manifest, (*under, *path), kind, value, _namespace(reference, kind, manifest, beside)
    )


def check_reference(found: ObjectReference, index: Index) -> Iterator[ObjectFinding]:
    """Yields the finding about a reference whose object does not exist."""
    register, is_complete = index.symbols, index.tree.is_complete
    kind, name, namespace = found.kind, found.name, found.namespace
    if register.has(kind, name, namespace) or not (is_complete or register.offers(kind)):
        return
    known = register.within(kind, namespace)
    suggestion = misspelt(name, known) or _other_hash(name, known)
    rule = _rule(found, is_complete=is_complete, has_others=bool(known), suggestion=suggestion)
    if rule is not None:
        message = missing(f"the {kind[1]}", name, known, suggestion)
        message += f" in namespace {namespace}" if namespace and not suggestion and not known else ""
        others = register.offers(kind).get(name, set()) - {""}
        message += f"; namespace {min(others)} has a {kind[1]} of that name" if others and not suggestion else ""
        yield ObjectFinding(rule, found.manifest, found.path, message, write(suggestion))


def _other_hash(name: str, known: list[str]) -> str:
    """Returns the only known name that differs just in the hash suffix of Kustomize, or an empty text."""
    stem = _HASHED.fullmatch(name)
    found = [text for text in known if stem and (other := _HASHED.fullmatch(text)) and other[1] == stem[1]]
    return found[0] if len(found) == 1 else ""


_HASHED = re.compile(r"(.+)-[2456789bcdfghkmt]{10}")
"""Names of generated ConfigMaps and Secrets: kustomize v5 api/internal/generators and api/hasher/hasher.go (encode)."""


def _rule(found: ObjectReference, *, is_complete: bool, has_others: bool, suggestion: str) -> Rule | None:
    if is_complete:
        return found.reference.rule
    match confidence_of(found.kind):
        case Confidence.CERTAIN:
            return found.reference.rule if has_others else NOT_IN_THESE_FILES
        case Confidence.LIKELY:
            return NOT_IN_THESE_FILES if has_others else None
        case Confidence.ONLY_IF_MISSPELLED:
            return NOT_IN_THESE_FILES if suggestion else None


def _typed_kind(value: Any) -> Kind | None:
    """Returns the group and kind of a typed reference. If it has an apiVersion instead of a group, the version is removed."""
    kind = dig(value, "kind")
    for key in ("group", "apiGroup"):
        if isinstance(api_group := dig(value, key), str):
            return (api_group, kind) if isinstance(kind, str) else None
    version = dig(value, "apiVersion")
    api_group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return (api_group, kind) if isinstance(kind, str) else None


def _around(path: Path) -> Path:
    """Returns the path of the map that has the last key of a path. Indexes of items at the end of the path are ignored."""
    end = len(path)
    while end and isinstance(path[end - 1], int):
        end -= 1
    return path[: max(end - 1, 0)]


def is_name(value: Any) -> bool:
    """Returns whether a value is a name without a variable that a tool replaces."""
    return isinstance(value, str) and bool(value) and not any(sign in value for sign in "${}<>")


def _namespace(reference: Reference, kind: Kind, manifest: Manifest, beside: Any) -> str:
    if kind in CLUSTER_SCOPED or reference.namespace == ANY_NAMESPACE:
        return ""
    if reference.namespace != SAME_NAMESPACE and isinstance(namespace := dig(beside, reference.namespace), str):
        return namespace
    return manifest.namespace
