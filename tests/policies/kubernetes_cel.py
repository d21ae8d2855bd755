"""CEL as Kubernetes evaluates an admission policy: variables in order, one that fails is missing, errors refuse.

Kubernetes' CEL says that null, a text or a number has no field; the engine here calls the question an error. Policies
are therefore asked with a has() of our own. The conformance lane compares the verdicts with gator's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings

from .quantities import quantity

Object = dict[str, Any]

_HAS = re.compile(r"\bhas\(([\w.]+)\.(\w+)\)")
_QUANTITY = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)


def _quantity(text: str) -> dict[str, str]:
    quantity(text)
    return {"text": text}


def _exceeds(left: dict[str, str], right: dict[str, str]) -> bool:
    return quantity(left["text"]).value > quantity(right["text"]).value


def _function(name: str, takes: list[Any], gives: Any, run: Any, *, is_member: bool = True) -> cel.FunctionDecl:
    overload = cel.Overload(f"{name}_1", return_type=gives, parameters=takes, is_member=is_member, impl=run)
    return cel.FunctionDecl(name, [overload])


@cache
def environment() -> cel.Env:
    """The CEL environment of an admission policy, as far as our policies use it."""
    variables = dict.fromkeys(("object", "oldObject", "request"), cel.Type.DYN)
    return cel.NewEnv(
        variables=variables | {"variables": cel.Type.Map(cel.Type.STRING, cel.Type.DYN)},
        extensions=[ext_strings.ExtStrings()],
        functions=[
            _function("quantity", [cel.Type.STRING], _QUANTITY, _quantity, is_member=False),
            _function("asInteger", [_QUANTITY], cel.Type.INT, lambda one: quantity(one["text"]).as_integer()),
            _function("isGreaterThan", [_QUANTITY, _QUANTITY], cel.Type.BOOL, _exceeds),
            _function("sum", [cel.Type.List(cel.Type.INT)], cel.Type.INT, sum),
        ],
    )


@cache
def compiled(expression: str) -> cel.Expression:
    return environment().compile(_HAS.sub(r"(type(\1) in [map, list] ? has(\1.\2) : false)", expression))


@dataclass
class Review:
    """One object under review, as the API server or a report hands it in."""

    object: Object
    old_object: Object | None = None
    request: Object = field(default_factory=dict)

    @classmethod
    def of(cls, document: Object) -> Review:
        """The review that an example stands for: an AdmissionReview, or an object as it lies in the cluster."""
        if document["kind"] != "AdmissionReview":
            return cls(document)
        request = document["request"]
        return cls(request["object"], request.get("oldObject"), request)


def denials(
    variables: dict[str, str], validations: tuple[dict[str, str], ...], parameters: Object, review: Review
) -> dict[int, str]:
    """Message by index of the validations that refuse."""
    known: Object = {"params": parameters, "anyObject": review.object}
    data = {"object": review.object, "oldObject": review.old_object, "request": review.request, "variables": known}
    for name, expression in variables.items():
        value = compiled(expression).eval(data=data)
        if value.type() != cel.Type.ERROR:
            known[name] = _plain(value)
    refused = {}
    for index, validation in enumerate(validations):
        verdict = compiled(validation["expression"]).eval(data=data)
        if verdict.type() == cel.Type.ERROR:
            refused[index] = f"expression '{validation['expression']}' resulted in error: {verdict.plain_value()}"
        elif verdict.type() != cel.Type.BOOL or verdict.plain_value() is not True:
            refused[index] = _message(validation, data)
    return refused


def _plain(value: cel.Value) -> Any:
    """The value as plain data; plain_value() of the engine takes a reference too many from None, until Python dies."""
    name = value.type().name()
    if name.startswith("LIST"):
        return [_plain(each) for each in value.value()]
    if name.startswith("MAP"):
        return {key: _plain(each) for key, each in value.value().items()}
    return None if name == "NULL" else value.plain_value()


def _message(validation: dict[str, str], data: Object) -> str:
    """The message; empty where its expression fails, which Kubernetes replaces by the validation's text."""
    if "message" in validation:
        return validation["message"]
    value = compiled(validation["messageExpression"]).eval(data=data)
    return str(value.plain_value()) if value.type() == cel.Type.STRING else ""
