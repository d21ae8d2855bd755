"""CEL as Kubernetes evaluates an admission policy: variables in order, one that fails is missing, errors refuse.

Stricter than Kubernetes in one thing: a field of null, or of what is no map, is an error here and absent there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_strings

from compiler.quantity import parse_quantity

Object = dict[str, Any]

_QUANTITY = cel.Type.Map(cel.Type.STRING, cel.Type.STRING)


def _as_integer(quantity: dict[str, str]) -> int:
    text = quantity["text"]
    if text[-1] in "mun":  # Go does not reduce 4000m to 4
        raise ValueError(f"{text} is no integer")
    value = parse_quantity(text)
    if value.denominator != 1:
        raise ValueError(f"{text} is no integer")
    return value.numerator


def _quantity(text: str) -> dict[str, str]:
    parse_quantity(text)
    return {"text": text}


def _exceeds(left: dict[str, str], right: dict[str, str]) -> bool:
    return parse_quantity(left["text"]) > parse_quantity(right["text"])


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
            _function("asInteger", [_QUANTITY], cel.Type.INT, _as_integer),
            _function("isGreaterThan", [_QUANTITY, _QUANTITY], cel.Type.BOOL, _exceeds),
            _function("sum", [cel.Type.List(cel.Type.INT)], cel.Type.INT, sum),
        ],
    )


@cache
def compiled(expression: str) -> cel.Expression:
    return environment().compile(expression)


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
            known[name] = value.plain_value()
    refused = {}
    for index, validation in enumerate(validations):
        verdict = compiled(validation["expression"]).eval(data=data)
        if verdict.type() == cel.Type.ERROR:
            refused[index] = f"expression '{validation['expression']}' resulted in error: {verdict.plain_value()}"
        elif verdict.plain_value() is not True:
            refused[index] = _message(validation, data)
    return refused


def _message(validation: dict[str, str], data: Object) -> str:
    """The message; empty where its expression fails, which Kubernetes replaces by the validation's text."""
    if "message" in validation:
        return validation["message"]
    value = compiled(validation["messageExpression"]).eval(data=data)
    return str(value.plain_value()) if value.type() == cel.Type.STRING else ""
