"""What the API server's answer to one request means: taken, with which warnings, or refused, and by whom."""

from __future__ import annotations

from collections.abc import Callable
from threading import BoundedSemaphore

from gpuc.rehearse.client import ApiError, Client
from gpuc.rehearse.outcome import Judge, Outcome

SILENCE = "nobody objects"
"""Words of a request that was taken without a warning."""
_REQUESTS = BoundedSemaphore(8)
"""Requests at the same time: each goes through two webhooks, which give up where too many wait."""
_POLICY = ("ValidatingAdmissionPolicy 'gatekeeper-", "validation.gatekeeper.sh", "Validation failed for Validating")
_FAILED = ("resulted in error", "no such key", "no such overload")


def judged(client: Client, request: Callable[[], object]) -> Outcome:
    """Sends a request and says what came back: admitted, or refused by whom."""
    try:
        with _REQUESTS:
            request()
    except ApiError as error:
        return Outcome("refused", by=refuser(error.message), words=error.message)
    words = "; ".join(client.warnings)
    return Outcome("admitted", by="policy" if _speaks(words) else "", words=words or SILENCE)


def refuser(message: str) -> Judge:
    """Who refused, from the words: a policy whose expression failed has not judged anything."""
    if _speaks(message):
        return "API server" if any(word in message for word in _FAILED) else "policy"
    return "quota" if "exceeded quota" in message else "API server"


def _speaks(words: str) -> bool:
    return any(mark in words for mark in _POLICY)
