"""Classifies the API server's response to a request: admitted, admitted with warnings, or refused by a component."""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import BoundedSemaphore

from gpuc.rehearse.client import ApiError, Client
from gpuc.rehearse.outcome import Outcome
from gpuc.trace.steps import Component

NO_OBJECTION = "no objection"
"""Message of the outcome if a request was admitted without a warning."""
_REQUESTS = BoundedSemaphore(8)
"""Limits concurrent requests: the API server calls two webhooks per request, and the webhooks time out under load."""
_POLICY_MESSAGES = (
    "ValidatingAdmissionPolicy 'gatekeeper-",
    "ValidatingAdmissionPolicy 'gpuc-",
    "validation.gatekeeper.sh",
    "Validation failed for Validating",
)
"""Parts of messages of Gatekeeper's policies and webhook, and of other policies of gpuc."""
_EXPRESSION_FAILURES = ("resulted in error", "no such key", "no such overload")
"""Parts of messages about a policy whose CEL expression failed."""


def classify_response(client: Client, request: Callable[[], object], ignored_warnings: Collection[str] = ()) -> Outcome:
    """Sends a request and returns the outcome: admitted, or refused by a component.

    Args:
        request: sends one request with the client in the calling thread.
        ignored_warnings: texts; a warning that contains one of them does not count.
    """
    try:
        with _REQUESTS:
            request()
    except ApiError as error:
        return Outcome("refused", by=refusing_component(error.message), message=error.message)
    counted = (warning for warning in client.warnings if not any(text in warning for text in ignored_warnings))
    warnings = "; ".join(counted)
    return Outcome("admitted", by="policy" if _is_from_policy(warnings) else "", message=warnings or NO_OBJECTION)


def refusing_component(message: str) -> Component:
    """Returns the component that refused a request, according to the error message.

    A policy whose CEL expression failed counts as "API server", because the policy made no decision.
    """
    if _is_from_policy(message):
        return "API server" if any(failure in message for failure in _EXPRESSION_FAILURES) else "policy"
    return "quota" if "exceeded quota" in message else "API server"


def _is_from_policy(message: str) -> bool:
    return any(phrase in message for phrase in _POLICY_MESSAGES)
