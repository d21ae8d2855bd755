"""Sets the default values that the OpenAPI schema of a CustomResourceDefinition declares.

Source: k8s.io/apiextensions-apiserver v0.35.4 pkg/apiserver/schema/defaulting/algorithm.go (Default)
"""

import copy
from typing import Any

from gpuc.objects.object_set import dig, items, pairs


def with_schema_defaults(value: Any, schema: Any, definitions: Any = None) -> Any:
    """Returns the value with the schema's defaults for missing properties.

    A property with the value null counts as missing if the schema forbids null.

    Args:
        definitions: the schemas to which `$ref` in the schema can refer, by name.
    """
    schema = _resolved(schema, definitions)
    if isinstance(value, dict):
        properties = {key: _resolved(own, definitions) for key, own in pairs(dig(schema, "properties"))}
        found = dict(value)
        for key, own in properties.items():
            default = dig(own, "default")
            if default is not None and (key not in found or (found[key] is None and dig(own, "nullable") is not True)):
                found[key] = copy.deepcopy(default)
        others = dig(schema, "additionalProperties")
        return {
            key: with_schema_defaults(item, properties.get(key, others), definitions) for key, item in found.items()
        }
    if isinstance(value, list):
        return [with_schema_defaults(item, dig(schema, "items"), definitions) for _, item in items(value)]
    return value


def _resolved(schema: Any, definitions: Any) -> Any:
    """Returns the schema to which a reference leads, with the keywords beside the reference."""
    if not definitions or not isinstance(schema, dict) or "$ref" not in schema:
        return schema
    own = {key: value for key, value in schema.items() if key != "$ref"}
    return {**definitions[schema["$ref"].rpartition("/")[2]], **own}
