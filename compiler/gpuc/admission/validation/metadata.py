"""The metadata of objects and pod templates: names, labels, annotations, owners; and label selectors.

Source: k8s.io/apimachinery v0.35.4 pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/types.go (ObjectMeta),
pkg/apis/meta/v1/validation/validation.go (ValidateLabelSelector)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    dns_label,
    dns_subdomain,
    invalid,
    label_key,
    label_value,
    labels_map,
    missing,
    required,
    rows,
    shown,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.dns_name import is_label_key
from gpuc.kubernetes.selector import Invalid, matches
from gpuc.objects.object_set import dig, items, labels, pairs
from gpuc.objects.selectors import read_selector

ANNOTATIONS_BYTES_MAX = 256 * 1024
_FIELDS: dict[str, type] = {
    "annotations": dict, "creationTimestamp": str, "deletionGracePeriodSeconds": int, "deletionTimestamp": str,
    "finalizers": list, "generateName": str, "generation": int, "labels": dict, "managedFields": list, "name": str,
    "namespace": str, "ownerReferences": list, "resourceVersion": str, "selfLink": str, "uid": str,
}  # fmt: skip
_TYPES = {dict: "a map", str: "a string", int: "an integer", list: "a list"}
_LEGACY_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_NAMES: dict[str, Callable[[Path, Any], Problems]] = {"StatefulSet": dns_label}
"""The syntax of the names of kinds whose names are not DNS subdomains.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/apps/validation/validation.go
"""
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def structure_of_metadata(document: Any, *, strict: bool) -> Problems:
    """Checks the fields of an object's metadata and their types, which a schema of the kind does not contain."""
    metadata = dig(document, "metadata")
    if not isinstance(metadata, dict):
        yield missing(("metadata",))
        return
    for name, value in metadata.items():
        kind = _FIELDS.get(name)
        if kind is None:
            if strict:
                yield _unknown(name)
        elif value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            yield invalid(("metadata", name), value, _TYPES[kind])
    for field in ("labels", "annotations"):
        for key, value in pairs(metadata.get(field)):
            if value is not None and not isinstance(value, str):
                yield invalid(("metadata", field, key), value, "a string", f'write "{_as_text(value)}"')


def object_metadata(document: Any) -> Problems:
    """Checks the name, namespace, labels, annotations, owners and finalizers of an object."""
    kind, metadata = dig(document, "kind"), dig(document, "metadata")
    named = _NAMES.get(kind, dns_subdomain)
    prefix = text(dig(metadata, "generateName"))
    if prefix:
        masked = prefix[:-1] + "a" if prefix.endswith("-") else prefix
        yield from (item._replace(message=item.message, fix="") for item in named(("metadata", "generateName"), masked))
    if text(dig(metadata, "name")):
        yield from named(("metadata", "name"), dig(metadata, "name"))
    elif not prefix:
        yield missing(("metadata", "name"), "write name or generateName")
    yield from dns_label(("metadata", "namespace"), dig(metadata, "namespace"))
    yield from labels_and_annotations(("metadata",), metadata)
    yield from _owners(metadata)
    for path, name in rows(("metadata",), metadata, "finalizers"):
        yield from label_key(path, name)
        if "/" not in text(name) and name not in _LEGACY_FINALIZERS:
            yield invalid(path, name, "a name with a domain such as example.com/name")


def labels_and_annotations(path: Path, metadata: Any) -> Problems:
    """Checks the labels and annotations of an object or a pod template."""
    yield from labels_map((*path, "labels"), dig(metadata, "labels"))
    total = 0
    for key, value in pairs(dig(metadata, "annotations")):
        if not is_label_key(key.lower()):
            where = (*path, "annotations", key)
            yield invalid(where, key, "a key of at most 63 letters, digits, -, _ and ., after an optional domain/")
        total += len(key.encode()) + len(text(value).encode())
    if total > ANNOTATIONS_BYTES_MAX:
        message = f"the annotations have {total} bytes; at most {ANNOTATIONS_BYTES_MAX} bytes are allowed"
        yield Problem((*path, "annotations"), message)


def _owners(metadata: Any) -> Problems:
    controllers = 0
    for path, reference in rows(("metadata",), metadata, "ownerReferences"):
        yield from required(path, reference, "apiVersion", "kind", "name", "uid")
        controllers += dig(reference, "controller") is True
    if controllers > 1:
        yield Problem(
            ("metadata", "ownerReferences"), f"{controllers} owners have controller: true; at most 1 is allowed"
        )


def _unknown(name: str) -> Problem:
    suggestion = nearest(name, sorted(_FIELDS))
    hint = f', did you mean "{suggestion}"' if suggestion else ""
    return Problem(("metadata", name), f"metadata has no field {shown(name)}{hint}")


def _as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def label_selector(path: Path, selector: Any) -> Problems:
    """Checks a LabelSelector. A missing selector has no problem."""
    yield from labels_map((*path, "matchLabels"), dig(selector, "matchLabels"))
    for where, row in rows(path, selector, "matchExpressions"):
        yield from requirement(where, row, _OPERATORS)
        for value_path, value in rows(where, row, "values"):
            yield from label_value(value_path, value)


def required_selector(document: Any, kind: str) -> Problems:
    """Checks the selector of a Deployment, StatefulSet, ReplicaSet or DaemonSet, and that it selects its own pods."""
    path: Path = ("spec", "selector")
    selector = dig(document, *path)
    if not isinstance(selector, dict):
        yield missing(path)
        return
    problems = list(label_selector(path, selector))
    yield from problems
    if not (dig(selector, "matchLabels") or dig(selector, "matchExpressions")):
        yield Problem(path, f"the selector is empty, and a {kind} needs the labels of its pods")
    elif not problems:
        yield from selects_template(document, selector)


def selects_template(document: Any, selector: Any, path: Path = ("spec", "template")) -> Iterator[Problem]:
    """Checks that a valid selector matches the labels of the pod template."""
    own = labels(dig(document, *path, "metadata", "labels"))
    try:
        is_match = matches(read_selector(selector), own)
    except Invalid:
        return
    if not is_match:
        wanted = labels(dig(selector, "matchLabels"))
        absent = {key: value for key, value in wanted.items() if own.get(key) != value}
        fix = f"add the labels {', '.join(f'{key}: {value}' for key, value in absent.items())}" if absent else ""
        yield Problem((*path, "metadata", "labels"), "the selector does not match the labels of the pod template", fix)


def requirement(path: Path, row: Any, operators: tuple[str, ...]) -> Problems:
    """Checks the operator, the key and the number of values of a requirement for labels."""
    operator, values = dig(row, "operator"), [value for _, value in items(dig(row, "values"))]
    if operator not in operators:
        yield invalid((*path, "operator"), operator, " or ".join(operators))
    elif operator in ("In", "NotIn") and not values:
        yield missing((*path, "values"), f"{operator} needs values")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield Problem((*path, "values"), f"{operator} allows no values", "remove values")
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield invalid((*path, "values"), values, f"exactly one number for {operator}")
    yield from label_key((*path, "key"), dig(row, "key") or "")
