"""Adds the defaults of a structural OpenAPI schema to a value.

Source: k8s.io/apiextensions-apiserver v0.35.4 pkg/apiserver/schema/defaulting/algorithm.go (Default)
"""

from __future__ import annotations

import copy
from typing import Any

from gpuc.objects.object_set import dig, items, pairs


def with_schema_defaults(value: Any, schema: Any) -> Any:
    """Returns the value with the defaults of missing properties. A null that the schema forbids counts as missing."""
    if isinstance(value, dict):
        properties = dict(pairs(dig(schema, "properties")))
        found = dict(value)
        for key, own in properties.items():
            default = dig(own, "default")
            if default is not None and (key not in found or (found[key] is None and dig(own, "nullable") is not True)):
                found[key] = copy.deepcopy(default)
        others = dig(schema, "additionalProperties")
        return {key: with_schema_defaults(item, properties.get(key, others)) for key, item in found.items()}
    if isinstance(value, list):
        return [with_schema_defaults(item, dig(schema, "items")) for _, item in items(value)]
    return value
