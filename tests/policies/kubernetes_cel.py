"""An admission policy as Kubernetes evaluates it: variables in order, one that fails is missing, errors refuse.

The conformance lane compares the verdicts with gator's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuc.cel.program import Failed, Program, Value, compiled

Object = dict[str, Any]


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
        value = answer(expression, data)
        if isinstance(value, Value):
            known[name] = value.value
    refused = {}
    for index, validation in enumerate(validations):
        verdict = answer(validation["expression"], data)
        if isinstance(verdict, Failed):
            refused[index] = f"expression '{validation['expression']}' resulted in error: {verdict.why}"
        elif verdict != Value(True):
            refused[index] = _message(validation, data)
    return refused


def answer(expression: str, data: Object) -> Value | Failed:
    """What an expression comes to; a policy of ours has none that is not evaluated."""
    program = compiled(expression, tuple(data))
    assert isinstance(program, Program), program
    found = program.evaluate(data)
    assert isinstance(found, Value | Failed), (found, expression)
    return found


def _message(validation: dict[str, str], data: Object) -> str:
    """The message; empty where its expression fails, which Kubernetes replaces by the validation's text."""
    if "message" in validation:
        return validation["message"]
    value = answer(validation["messageExpression"], data)
    return value.value if isinstance(value, Value) and isinstance(value.value, str) else ""
