"""Compares an object with the schema of its kind: the names of its fields, and the types of the values.

kubectl sends objects with strict field validation: an unknown field is an error. Controllers send objects without
strict field validation: the API server then drops unknown fields.

Source: k8s.io/apimachinery v0.35.4 pkg/apis/meta/v1/types.go (FieldValidation);
k8s.io/apiextensions-apiserver v0.35.4 pkg/apiserver/schema/defaulting/prune.go
"""

from functools import cache
from typing import TYPE_CHECKING, Any

from gpuc.admission.documents import api_group
from gpuc.admission.validation.field import Field, Problems
from gpuc.catalog.schemas import Table, builtin_versions, table
from gpuc.catalog.schemas.schema_errors import ErrorKind, schema_errors, validator
from gpuc.catalog.schemas.structural import Schema
from gpuc.catalog.schemas.written import written
from gpuc.manifest.manifest import NOT_IN_BODY, Body
from gpuc.objects.object_set import dig

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

KUBERNETES = "1.35"
"""The minor version of Kubernetes whose validation this package contains."""
BUILTIN_GROUPS = frozenset(("", "apps", "batch"))
_NULLS = {
    **dict.fromkeys(("annotations", "labels", "matchLabels", "nodeSelector"), ""),
    **dict.fromkeys(("limits", "requests", "overhead"), "0"),
}
"""The value that a null has in maps of strings and of quantities of built-in kinds, by name of the map."""
_DROPPED = ("enum", "propertyNames", "required", "pattern", "x-kubernetes-list-map-keys", "uniqueItems", "default")
"""Keywords of the tables of built-in kinds that the API server does not read from a schema, but checks in code."""

_QUANTITY: Schema = {"type": ["string", "number"], "format": "quantity"}
_QUANTITIES: Schema = {
    **{name: {"type": "object", "additionalProperties": _QUANTITY} for name in ("limits", "requests", "overhead")},
    **dict.fromkeys(("divisor", "sizeLimit"), _QUANTITY),
}
"""The schemas of fields with quantities, which are plain strings in the tables of built-in kinds."""


def is_builtin(document: Any) -> bool:
    """Returns whether a kind is built into the API server, so that it needs no CustomResourceDefinition."""
    return api_group(document) in BUILTIN_GROUPS


def table_of(document: Any, kubernetes: str = KUBERNETES) -> Table | None:
    """Returns the schema of a document's kind, with further facts about the kind; None if gpuc has no schema."""
    version = kubernetes if kubernetes in builtin_versions() else KUBERNETES
    return table(str(document.get("apiVersion")), str(document.get("kind")), version)


def structure(document: Body, complete: Body, *, strict: bool, kubernetes: str = KUBERNETES) -> Problems:
    """Checks the fields of an object and their types against the schema of its kind, which gpuc must have.

    Args:
        complete: the document without nulls.
        strict: whether unknown fields are errors.
    """
    known = table_of(document, kubernetes)
    assert known is not None
    key = (known.api, known.kind, kubernetes if kubernetes in builtin_versions() else KUBERNETES)
    for error in schema_errors(_compiled(*key), _body(document), _schema(*key)) if strict else ():
        if error.kind is ErrorKind.UNKNOWN:  # also a field with the value null
            message = error.message.replace("unknown field", f'unknown field "{error.path[-1]}"', 1)
            yield Field(error.path, None).problem(message, error.fix)
    for error in schema_errors(_compiled(*key), _body(complete), _schema(*key)):
        # The API server accepts every spelling of a quantity.
        if error.kind in (ErrorKind.UNKNOWN, ErrorKind.QUANTITY):
            continue
        field = Field(error.path, dig(document, *error.path))
        if is_builtin(document) and error.path and isinstance(error.path[-1], int) and field.value is None:
            yield field.not_checked("a null in a list is an empty value")
        else:
            yield field.problem(f"{error.path[-1] if error.path else 'the object'}: {error.message}", error.fix)


def _body(document: Body) -> Body:
    return {name: value for name, value in document.items() if name not in NOT_IN_BODY}


def without_nulls(document: Any) -> Any:
    """Returns a copy of a document without nulls, because a null means the same as a missing field.

    A null in a map of a built-in kind, such as labels or limits, becomes an empty string or 0.
    """
    return _without_nulls(document, is_builtin(document))


def _without_nulls(value: Any, builtin: bool, null: str | None = None) -> Any:
    """Returns the value without the nulls in maps, or with the value of `null` in their place."""
    if isinstance(value, list):
        return [_without_nulls(item, builtin) for item in value]
    if not isinstance(value, dict):
        return value
    children = {
        name: null if child is None else _without_nulls(child, builtin, _NULLS.get(name) if builtin else None)
        for name, child in value.items()
    }
    return {name: child for name, child in children.items() if child is not None}


@cache
def _compiled(api: str, kind: str, kubernetes: str) -> "Draft202012Validator":
    return validator(_schema(api, kind, kubernetes))


@cache
def _schema(api: str, kind: str, kubernetes: str) -> Schema:
    known = table(api, kind, kubernetes)
    assert known is not None
    if known.group in BUILTIN_GROUPS:
        types: Schema = _types(written(known.schema))
        return types
    strict: Schema = written(known.schema, numbers="integer")
    return strict


def _types(schema: Any, *, is_properties: bool = False) -> Any:
    """Returns a schema without the keywords that the API server does not read from the schema of a built-in kind."""
    if isinstance(schema, list):
        return [_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    types = {
        key: _types(value, is_properties=not is_properties and key in ("properties", "$defs"))
        for key, value in schema.items()
        if is_properties or key not in _DROPPED
    }
    return {**types, **{key: _QUANTITIES[key] for key in types if key in _QUANTITIES}} if is_properties else types
