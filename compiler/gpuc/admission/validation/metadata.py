"""Checks metadata of objects and pod templates (names, labels, annotations, owners), and label selectors.

Source: k8s.io/apimachinery v0.35.4 pkg/api/validation/objectmeta.go, pkg/apis/meta/v1/types.go (ObjectMeta),
pkg/apis/meta/v1/validation/validation.go (ValidateLabelSelector)
"""

from typing import Any

from msgspec.structs import replace

from gpuc.admission.validation.constraints import Constraint, dns_label, dns_subdomain
from gpuc.admission.validation.constraints import labels as labels_of
from gpuc.admission.validation.field import Field, Problem, Problems, shown, text
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.dns_name import is_label_key
from gpuc.kubernetes.selector import Invalid, matches
from gpuc.objects.object_set import dig, labels
from gpuc.objects.selectors import read_selector

ANNOTATIONS_BYTES_MAX = 256 * 1024
_FIELDS: dict[str, type] = {
    "annotations": dict, "creationTimestamp": str, "deletionGracePeriodSeconds": int, "deletionTimestamp": str,
    "finalizers": list, "generateName": str, "generation": int, "labels": dict, "managedFields": list, "name": str,
    "namespace": str, "ownerReferences": list, "resourceVersion": str, "selfLink": str, "uid": str,
}  # fmt: skip
_TYPES = {dict: "a map", str: "a string", int: "an integer", list: "a list"}


def structure_of_metadata(document: Any, *, strict: bool) -> Problems:
    """Checks the fields of an object's metadata and their types. The schemas of kinds do not describe metadata."""
    metadata = Field(("metadata",), dig(document, "metadata"))
    if not isinstance(metadata.value, dict):
        yield metadata.missing()
        return
    for name, field in metadata.entries():
        kind = _FIELDS.get(name)
        if kind is None:
            if strict:
                yield _unknown(field)
        elif field.value is not None and (not isinstance(field.value, kind) or isinstance(field.value, bool)):
            yield field.invalid(_TYPES[kind])
    for name in ("labels", "annotations"):
        for _, entry in metadata.entries(name):
            if entry.value is not None and not isinstance(entry.value, str):
                written = str(entry.value).lower() if isinstance(entry.value, bool) else str(entry.value)
                yield entry.invalid("a string", f'write "{written}"')


def _unknown(field: Field) -> Problem:
    suggestion = nearest(field.name, sorted(_FIELDS))
    hint = f', did you mean "{suggestion}"' if suggestion else ""
    return field.problem(f"metadata has no field {shown(field.name)}{hint}")


def _dns_label_as_name(metadata: Field) -> Problems:
    return _name(metadata, dns_label)


def _dns_subdomain_as_name(metadata: Field) -> Problems:
    return _name(metadata, dns_subdomain)


def _name(metadata: Field, named: Constraint) -> Problems:
    """Checks the name, or the name that begins with generateName."""
    prefix = text(metadata.get("generateName"))
    masked = prefix[:-1] + "a" if prefix.endswith("-") else prefix
    yield from replace(named, corrected=None)(metadata.at("generateName").reads(masked))
    if text(metadata.get("name")):
        yield from named(metadata.at("name"))
    elif not prefix:
        yield metadata.at("name").missing("write name or generateName")


def labels_and_annotations(metadata: Field) -> Problems:
    """Checks the labels and annotations of an object or a pod template."""
    yield from labels_of(metadata.at("labels"))
    yield from _annotations(metadata.at("annotations"))


def _annotations(field: Field) -> Problems:
    total = 0
    for key, entry in field.entries():
        if not is_label_key(key.lower()):
            allowed = "a key of at most 63 letters, digits, -, _ and ., after an optional domain/"
            yield entry.reads(key).invalid(allowed)
        total += len(key.encode()) + len(entry.text.encode())
    if total > ANNOTATIONS_BYTES_MAX:
        yield field.problem(f"the annotations have {total} bytes; at most {ANNOTATIONS_BYTES_MAX} bytes are allowed")


def _owners(field: Field) -> Problems:
    controllers = sum(row.get("controller") is True for row in field.rows())
    if controllers > 1:
        yield field.problem(f"{controllers} owners have controller: true; at most 1 is allowed")


def _own_selector(document: Field) -> Problems:
    """Checks that the selector of a workload matches the labels of its pod template."""
    field, selector = document.at("spec", "template", "metadata", "labels"), document.get("spec", "selector")
    own = labels(field.value)
    try:
        is_match = matches(read_selector(selector), own)
    except Invalid:
        return
    if not is_match:
        wanted = labels(dig(selector, "matchLabels"))
        absent = {key: value for key, value in wanted.items() if own.get(key) != value}
        fix = f"add the labels {', '.join(f'{key}: {value}' for key, value in absent.items())}" if absent else ""
        yield field.problem("the selector does not match the labels of the pod template", fix)
