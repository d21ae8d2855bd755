"""Describes a field in which objects name other objects, and checks that the named object exists."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gpuc.diagnostics.finding import Path, Rule
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS, TEMPLATES
from gpuc.kubernetes.kueue import GROUP
from gpuc.manifest.manifest import Kind, Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, group
from gpuc.objects.symbol_table import CLUSTER_SCOPED, kind_of
from gpuc.parts.folders import table_beside
from gpuc.verify import rule_of

if TYPE_CHECKING:
    from gpuc.cluster.index import Index

TABLE = table_beside(__file__)
NOT_IN_THESE_FILES = rule_of("REF090")
"""The rule for incomplete input, for which a program or another repository may create the missing object."""

ANY: Final = "*"
"""A value of Reference.source: objects of every kind."""
POD: Final = "pod"
"""A value of Reference.source: pods and all pod templates."""
TYPED: Final = "typed"
"""A value of Reference.target: the reference is a map with group, kind and name."""
SAME_NAMESPACE: Final = "same"
"""A value of Reference.namespace: the namespace of the object with the reference."""
ANY_NAMESPACE: Final = "any"
"""A value of Reference.namespace: the named object may be in any namespace."""


class Confidence(Enum):
    """How certain it is that a cluster lacks an object if the checked files do not contain the object."""

    CERTAIN = "certain"
    """A repository has either all objects of the kind or none. If the files have others, the finding is an error."""
    LIKELY = "likely"
    """Programs create some objects of the kind. If the files have others in the namespace, the finding is a warning."""
    ONLY_IF_MISSPELLED = "only if misspelled"
    """Charts and generators create objects of the kind. If the name is similar to a name in the files, the finding is a
    warning."""


class Reference(Struct, frozen=True):
    """A field in which objects of one kind name objects of another kind."""

    source: str
    """The kind that has the field: "kueue.x-k8s.io/LocalQueue", a group with "/*", ANY or POD."""
    path: str
    """The path of the field, as a pattern of compiler/gpuc/objects/paths.py."""
    target: str
    """The kind of the named object, for example "kueue.x-k8s.io/ClusterQueue" or "ConfigMap", or TYPED."""
    namespace: str = SAME_NAMESPACE
    """The namespace of the named object: SAME_NAMESPACE, ANY_NAMESPACE, or a key.

    The value of the key is the namespace. The key is in the same map as the name. For cluster-scoped kinds, the field
    has no meaning."""
    when: tuple[str, str] = ("", "")
    """A key in the same map as the name, and a value. If the key has another value, the field is not a reference."""


class ObjectReference(Struct, frozen=True):
    """A field of an object that contains the name of another object."""

    reference: Reference
    rule: Rule
    """The rule about a missing object."""
    manifest: Manifest
    """The object with the reference."""
    path: Path
    """The path of the name in the object with the reference."""
    kind: Kind
    """The kind of the named object."""
    name: str
    namespace: str
    """The namespace of the named object; empty for cluster-scoped kinds, any namespace, or an unknown namespace."""


_CERTAIN_GROUPS = frozenset((KARPENTER, KARPENTER_AWS, GROUP, TEMPLATES))
_OFTEN_GENERATED = frozenset(map(kind_of, TABLE["often_generated"]))


def confidence_of(kind: Kind) -> Confidence:
    """Returns how certain it is that a cluster lacks an object of a kind if the checked files lack the object."""
    if kind[0] in _CERTAIN_GROUPS:
        return Confidence.CERTAIN
    return Confidence.ONLY_IF_MISSPELLED if kind in _OFTEN_GENERATED else Confidence.LIKELY


def object_reference(
    reference: Reference, rule: Rule, manifest: Manifest, path: Path, value: Any, document: Any, under: Path = ()
) -> ObjectReference | None:
    """Returns the reference in a field; None if the value of the field names no object.

    Args:
        path: the path of the field in the document.
        value: the value of the field.
        document: the object, or the pod template in it.
        under: the path of the document in the object.
    """
    if reference.target == TYPED:
        # The default group of a runtime is that of the TrainJob.
        kind = _typed_kind(value, group(manifest) if reference.path == "spec.runtimeRef" else "")
        path, value, parent = (*path, "name"), dig(value, "name"), value
    else:
        kind = kind_of(reference.target)
        parent = dig(document, *_parent_map(path))
    key, wanted = reference.when
    if kind is None or not is_name(value) or (key and dig(parent, key) != wanted) or dig(parent, "optional") is True:
        return None
    namespace = _namespace(reference, kind, manifest, parent)
    return ObjectReference(reference, rule, manifest, (*under, *path), kind, value, namespace)


def check_reference(reference: ObjectReference, index: "Index") -> Iterator[ObjectFinding]:
    """Yields a finding if the object that the reference names does not exist."""
    symbols, is_complete = index.symbols, index.tree.is_complete
    kind, name, namespace = reference.kind, reference.name, reference.namespace
    if symbols.has(kind, name, namespace) or not (is_complete or symbols.namespaces_by_name(kind)):
        return
    known = symbols.names_in(kind, namespace)
    suggestion = misspelt(name, known) or _other_hash(name, known)
    rule = _rule(reference, is_complete=is_complete, has_others=bool(known), suggestion=suggestion)
    if rule is not None:
        message = missing(f"the {kind[1]}", name, known, suggestion)
        message += f" in namespace {namespace}" if namespace and not suggestion and not known else ""
        others = symbols.namespaces_by_name(kind).get(name, set()) - {""}
        message += f"; namespace {min(others)} has a {kind[1]} with this name" if others and not suggestion else ""
        fix, needs = write(suggestion), f"names of {kind[1]}"
        yield ObjectFinding(rule, reference.manifest, reference.path, message, fix, needs=needs)


def _other_hash(name: str, known: list[str]) -> str:
    """Returns the only known name that differs only in the hash suffix of Kustomize; otherwise the empty string."""
    stem = _HASHED.fullmatch(name)
    matching = [text for text in known if stem and (other := _HASHED.fullmatch(text)) and other[1] == stem[1]]
    return matching[0] if len(matching) == 1 else ""


_HASHED = re.compile(r"(.+)-[2456789bcdfghkmt]{10}")
"""Names of ConfigMaps and Secrets that Kustomize generates.

Source: kustomize v5 api/internal/generators, api/hasher/hasher.go (encode)
"""


def _rule(reference: ObjectReference, *, is_complete: bool, has_others: bool, suggestion: str) -> Rule | None:
    if is_complete:
        return reference.rule
    match confidence_of(reference.kind):
        case Confidence.CERTAIN:
            return reference.rule if has_others else NOT_IN_THESE_FILES
        case Confidence.LIKELY:
            return NOT_IN_THESE_FILES if has_others else None
        case Confidence.ONLY_IF_MISSPELLED:
            return NOT_IN_THESE_FILES if suggestion else None


def _typed_kind(value: Any, default: str) -> Kind | None:
    """Returns the API group and kind of a reference with TYPED target, from its group, apiGroup or apiVersion.

    default: the group of a reference without any of them.
    """
    kind = dig(value, "kind")
    for key in ("group", "apiGroup"):
        if isinstance(api_group := dig(value, key), str):
            return (api_group, kind) if isinstance(kind, str) else None
    version = dig(value, "apiVersion")
    api_group = version.rpartition("/")[0] if isinstance(version, str) else default
    return (api_group, kind) if isinstance(kind, str) else None


def _parent_map(path: Path) -> Path:
    """Returns the path of the map with the last key of a path. List indexes after the last key are ignored."""
    end = len(path)
    while end and isinstance(path[end - 1], int):
        end -= 1
    return path[: max(end - 1, 0)]


def is_name(value: Any) -> bool:
    """Returns whether a value is the name of an object. A text with a placeholder such as ${NAME} is not."""
    return isinstance(value, str) and bool(value) and not any(sign in value for sign in "${}<>")


def _namespace(reference: Reference, kind: Kind, manifest: Manifest, parent: Any) -> str:
    if kind in CLUSTER_SCOPED or reference.namespace == ANY_NAMESPACE:
        return ""
    if reference.namespace != SAME_NAMESPACE and isinstance(namespace := dig(parent, reference.namespace), str):
        return namespace
    return manifest.namespace
