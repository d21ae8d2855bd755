"""Checks the keys and types of Helm values with the schemas of the charts."""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from gpuc.catalog import load
from gpuc.catalog.records import EmbeddedDocument
from gpuc.catalog.schemas import chart, embedded
from gpuc.catalog.schemas.schema_errors import ErrorKind, SchemaError, schema_errors, validator
from gpuc.documents.reader import load_yaml
from gpuc.manifest.manifest import Values
from gpuc.objects.object_set import dig

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator


def value_errors(values: Values) -> Iterator[SchemaError]:
    """Yields the keys and values in Helm values that the chart does not accept.

    For a chart without a schema, nothing is checked. A null is correct for every key: Helm removes the key.

    Source: helm/helm v4.2.1 pkg/chart/common/util/coalesce.go (coalesceValues)
    """
    schema = chart(values.component)
    if schema is not None:
        for error in schema_errors(chart_validator(values.component), values.body, schema):
            if error.kind is not ErrorKind.VALUE or dig(values.body, *error.path) is not None:
                yield error
    for row in load().documents:
        if row.component == values.component:
            yield from _document_errors(values, row)


def _document_errors(values: Values, row: EmbeddedDocument) -> Iterator[SchemaError]:
    text = dig(values.body, *row.path)
    if not isinstance(text, str):
        return
    try:
        document = values.embedded[text] if text in values.embedded else load_yaml(text)
    except ValueError as problem:
        yield SchemaError(ErrorKind.VALUE, row.path, f"not YAML: {problem}")
        return
    for error in schema_errors(document_validator(row), document, embedded(row)):
        yield error.under(*row.path)


@cache
def chart_validator(component: str) -> "Draft202012Validator":
    """Returns the validator for the Helm values of a component."""
    return validator(chart(component) or {})


@cache
def document_validator(row: EmbeddedDocument) -> "Draft202012Validator":
    """Returns the validator for a YAML document that is a string in Helm values."""
    return validator(embedded(row))
