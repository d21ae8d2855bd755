"""Builds CustomResourceDefinitions with a CEL rule at one field."""

from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
GROUP = "example.com"
TEXT: Schema = {"type": "string", "maxLength": 100}


@dataclass(frozen=True, slots=True)
class Case:
    """A field with a rule."""

    name: str
    schema: Schema
    good: tuple[Any, ...] = ()
    """Values that the server accepts."""
    bad: tuple[Any, ...] = ()
    """Values that the server refuses because of the rule."""
    unsure: tuple[tuple[Any, bool], ...] = ()
    """Values for which lint reports that it cannot evaluate the rule, and whether the server accepts them."""


def rule(text: str, message: str = "refused", **more: Any) -> Schema:
    """The key of a schema with one rule."""
    return {"x-kubernetes-validations": [{"rule": text, "message": message, **more}]}


def fields(properties: Schema, **more: Any) -> Schema:
    """An object with these fields."""
    return {"type": "object", "properties": properties, **more}


def definition(schema: Schema, kind: str = "Widget", **spec: Any) -> Schema:
    """A CustomResourceDefinition with one version."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.lower()}s.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version], **spec},
    }
