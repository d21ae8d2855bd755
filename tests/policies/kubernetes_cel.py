"""Evaluation of a policy as in Kubernetes: variables in order; a variable with an error is missing; errors deny.

The conformance tests compare the verdicts with those of gator.
"""

from dataclasses import dataclass, field
from typing import Any

from gpuc.cel.program import Failed, Program, Value, compiled

Object = dict[str, Any]


@dataclass
class Review:
    """An object to check, as the API server or the audit submits it."""

    object: Object
    old_object: Object | None = None
    request: Object = field(default_factory=dict)

    @classmethod
    def of(cls, document: Object) -> "Review":
        """Returns the review of an example: an AdmissionReview, or an object that exists in the cluster."""
        if document["kind"] != "AdmissionReview":
            return cls(document)
        request = document["request"]
        return cls(request["object"], request.get("oldObject"), request)


def denials(
    variables: dict[str, str], validations: tuple[dict[str, str], ...], parameters: Object, review: Review
) -> dict[int, str]:
    """Returns the messages of the validations that deny, by index."""
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
    """Evaluates an expression."""
    program = compiled(expression, tuple(data))
    assert isinstance(program, Program), program
    found = program.evaluate(data)
    assert isinstance(found, Value | Failed), (found, expression)
    return found


def _message(validation: dict[str, str], data: Object) -> str:
    """Returns the message. Empty if its expression fails; Kubernetes then uses the text of the validation."""
    if "message" in validation:
        return validation["message"]
    value = answer(validation["messageExpression"], data)
    return value.value if isinstance(value, Value) and isinstance(value.value, str) else ""
