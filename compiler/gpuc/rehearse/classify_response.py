"""Classifies the API server's response to a request: admitted, admitted with warnings, or refused by a component."""

from __future__ import annotations

from collections.abc import Callable
from threading import BoundedSemaphore

from gpuc.rehearse.client import ApiError, Client
from gpuc.rehearse.outcome import Component, Outcome

NO_OBJECTION = "no objection"
"""Message of a request that was admitted without a warning."""
_REQUESTS = BoundedSemaphore(8)
"""Limit of concurrent requests: each request calls two webhooks, which time out under load."""
_POLICY = ("ValidatingAdmissionPolicy 'gatekeeper-", "validation.gatekeeper.sh", "Validation failed for Validating")
_FAILED = ("resulted in error", "no such key", "no such overload")


def classify_response(client: Client, request: Callable[[], object]) -> Outcome:
    """Sends a request and returns its outcome: admitted, or refused by a component."""
    try:
        with _REQUESTS:
            request()
    except ApiError as error:
        return Outcome("refused", by=refusing_component(error.message), message=error.message)
    warnings = "; ".join(client.warnings)
    return Outcome("admitted", by="policy" if _is_from_policy(warnings) else "", message=warnings or NO_OBJECTION)


def refusing_component(message: str) -> Component:
    """The component that refused a request, from the error message.

    A policy whose CEL expression failed counts as "API server": the policy made no decision.
    """
    if _is_from_policy(message):
        return "API server" if any(failure in message for failure in _FAILED) else "policy"
    return "quota" if "exceeded quota" in message else "API server"


def _is_from_policy(message: str) -> bool:
    return any(phrase in message for phrase in _POLICY)
