"""Checks the keys and types of Helm values against the schemas of the pinned charts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from gpuc.catalog.schemas import chart, kueue_configuration
from gpuc.catalog.schemas.schema_errors import ErrorKind, SchemaError, schema_errors, validator
from gpuc.documents.reader import load_yaml
from gpuc.manifest.manifest import Values
from gpuc.objects.object_set import dig

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

CONFIGURATION_TEXT = ("managerConfig", "controllerManagerConfigYaml")
"""The path of Kueue's configuration in the values of its chart."""


def value_errors(values: Values) -> Iterator[SchemaError]:
    """Yields the errors of Helm values: keys and values that the chart does not accept.

    The values of a chart without a schema have no errors. A null is correct for every key: Helm removes the key.

    Source: helm/helm v4.2.1 pkg/chart/common/util/coalesce.go (coalesceValues)
    """
    schema = chart(values.component)
    if schema is not None:
        for error in schema_errors(schema_validator(values.component), values.body, schema):
            if error.kind is not ErrorKind.VALUE or dig(values.body, *error.path) is not None:
                yield error
    if values.component == "kueue":
        yield from _configuration(values)


def _configuration(values: Values) -> Iterator[SchemaError]:
    """Yields the errors of Kueue's configuration, a YAML text in the Helm values that the chart does not validate."""
    text = dig(values.body, *CONFIGURATION_TEXT)
    if not isinstance(text, str):
        return
    try:
        document = values.embedded[text] if text in values.embedded else load_yaml(text)
    except ValueError as error:
        yield SchemaError(ErrorKind.VALUE, CONFIGURATION_TEXT, f"not YAML: {error}")
        return
    for item in schema_errors(schema_validator("kueue configuration"), document, kueue_configuration()):
        yield item.under(*CONFIGURATION_TEXT)


@cache
def schema_validator(name: str) -> Draft202012Validator:
    """Returns the validator of a chart's values, by its component; or of the configuration of Kueue, by other names."""
    return validator(chart(name) or kueue_configuration())
