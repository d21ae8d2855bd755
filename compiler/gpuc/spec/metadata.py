"""Labels and annotations: maps with the syntax that Kubernetes requires of their keys and values."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from gpuc.kubernetes.dns_name import is_label_key, is_label_value
from gpuc.manifest.printable import text_problem
from gpuc.spec.form import Words, text_error

ANNOTATIONS_BYTES_MAX = 16 * 1024
"""The largest size of one map of annotations: keys and values.

An object has at most two of these maps. `kubectl apply` copies the object as JSON, where a character can need six
bytes, into one more annotation. Kubernetes allows 256 KiB for all annotations of an object.

Source: k8s.io/apimachinery v0.35.4 pkg/api/validation/objectmeta.go (TotalAnnotationSizeLimitB)
"""
_KEY = r"^([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
_KEY_FORM = (
    "at most 63 letters, digits, -, _ and . that start and end with a letter or digit, after an optional DNS name and /"
)
_VALUE = r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$"
_VALUE_FORM = "at most 63 letters, digits, -, _ and . that start and end with a letter or digit"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")


def _label_key(key: str) -> str:
    if not is_label_key(key):
        prefix, slash, name = key.rpartition("/")
        normal = prefix.lower() + slash + _joined(name)
        raise text_error(_KEY_FORM, normal if is_label_key(normal) else "")
    return printable(key)


def _label_value(value: str) -> str:
    if not is_label_value(value):
        normal = _joined(value)
        raise text_error(_VALUE_FORM, normal if normal and is_label_value(normal) else "")
    return printable(value)


def _joined(text: str) -> str:
    """Returns the text with a hyphen in place of each run of characters that a label does not allow."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-_.")


def _annotation(value: str) -> str:
    if match := _CONTROL.search(value):
        raise text_error(f"a text without the control character U+{ord(match[0]):04X}")
    return printable(value)


def _small(annotations: dict[str, str]) -> dict[str, str]:
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > ANNOTATIONS_BYTES_MAX:
        raise text_error(f"at most {ANNOTATIONS_BYTES_MAX} bytes of keys and values", actual=f"{size} bytes")
    return annotations


def printable(text: str) -> str:
    """Returns the text unchanged if YAML can represent all its characters.

    Raises:
        PydanticCustomError: when the text has a character that YAML cannot represent.
    """
    if reason := text_problem(text):
        raise text_error(f"another text: {reason}")
    return text


LabelKey = Annotated[str, AfterValidator(_label_key), WithJsonSchema({"type": "string", "pattern": _KEY})]
"""The key of a label or an annotation."""

_LabelText = Annotated[
    str, AfterValidator(_label_value), WithJsonSchema({"type": "string", "pattern": _VALUE}), Words(_VALUE_FORM)
]

LabelValue = Annotated[_LabelText, Field(min_length=1)]
"""A value that becomes the value of a Kubernetes label, and is not empty."""

Labels = Annotated[dict[LabelKey, _LabelText], Words("a map such as {owner: ml-team}")]
"""Labels of Kubernetes objects by key."""

PodLabels = Annotated[dict[LabelKey, LabelValue], Field(min_length=1), Words("a map such as {app: search}")]
"""Labels by key. A pod has to have all of them."""

Annotations = Annotated[
    dict[LabelKey, Annotated[str, AfterValidator(_annotation)]],
    AfterValidator(_small),
    Words("a map such as {owner: ml-team}"),
]
"""Annotations of Kubernetes objects by key."""
