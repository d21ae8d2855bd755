"""Checks fields of ConstraintTemplates and constraints for which the CRDs of Gatekeeper have no schema."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from gpuc.catalog.schemas import cel_source
from gpuc.catalog.schemas.schema_errors import ErrorKind, SchemaError, schema_errors, validator
from gpuc.catalog.schemas.structural import Schema, strict
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import by_first, dig, items

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

_CEL_ENGINE = "K8sNativeValidation"
_ANY_PARAMETERS = '{"x-kubernetes-preserve-unknown-fields": true}'
_LEGACY = ("/v1alpha1", "/v1beta1")
_PARAMETERS = ("spec", "crd", "spec", "validation", "openAPIV3Schema")


def declared_parameters(manifests: Sequence[Manifest]) -> dict[str, str]:
    """Returns the schema (JSON text) that ConstraintTemplates declare for parameters, by the kind of constraint.

    The result has no invalid schemas, which `template_errors` reports. If several ConstraintTemplates of a kind declare
    different schemas, for example templates of several clusters in one folder, the schema accepts any parameters.
    """
    templates = (manifest for manifest in manifests if manifest.kind == "ConstraintTemplate")
    declared = by_first((_kind(template), _declared(template)) for template in templates)
    texts = {kind: text[0] if len(set(text)) == 1 else _ANY_PARAMETERS for kind, text in declared.items()}
    return {kind: text for kind, text in texts.items() if not _invalid_schema(text)}


def parameter_errors(constraint: Manifest, declared: str) -> Iterator[SchemaError]:
    """Yields the errors in the parameters of a constraint. The schema is in its ConstraintTemplate."""
    compiled, schema = _parameters(declared)
    for item in schema_errors(compiled, dig(constraint.body, "spec", "parameters") or {}, schema):
        yield item.under("spec", "parameters")


def template_errors(manifest: Manifest) -> Iterator[SchemaError]:
    """Yields the errors in the name, the schema and the CEL source of a ConstraintTemplate.

    The CustomResourceDefinition does not validate these fields. With a misspelled key in its CEL source, a policy
    admits everything.
    """
    if (fix := _kind(manifest).lower()) != manifest.name:
        message = f'the name must be "{fix}", the kind of the constraints in lower case'
        yield SchemaError(ErrorKind.VALUE, ("metadata", "name"), message, fix)
    if error := _invalid_schema(_declared(manifest)):
        yield SchemaError(ErrorKind.VALUE, _PARAMETERS, error)
    for t, target in items(dig(manifest.body, "spec", "targets")):
        for c, code in items(dig(target, "code")):
            if dig(code, "engine") == _CEL_ENGINE:
                for item in schema_errors(_cel_validator(), dig(code, "source"), cel_source()):
                    yield item.under("spec", "targets", t, "code", c, "source")


@cache
def _parameters(declared: str) -> "tuple[Draft202012Validator, Schema]":
    schema = strict({"type": "object", **json.loads(declared)})
    return validator(schema), schema


@cache
def _invalid_schema(declared: str) -> str:
    """Returns the reason why a JSON text is not a valid schema; the empty string for a valid schema."""
    try:
        _parameters(declared)
    except (TypeError, ValueError, AttributeError) as error:
        return f"not a valid schema: {error}"
    return ""


def _declared(template: Manifest) -> str:
    if template.api.endswith(_LEGACY) and dig(template.body, *_PARAMETERS[:-1], "legacySchema") is not False:
        # In Gatekeeper, legacySchema is true by default (frameworks constraint/pkg/apis/templates/v1beta1).
        return _ANY_PARAMETERS
    return json.dumps(dig(template.body, *_PARAMETERS) or {}, sort_keys=True)


@cache
def _cel_validator() -> "Draft202012Validator":
    return validator(cel_source())


def _kind(manifest: Manifest) -> str:
    return str(dig(manifest.body, "spec", "crd", "spec", "names", "kind"))
