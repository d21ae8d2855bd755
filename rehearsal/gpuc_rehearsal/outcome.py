"""The request of a test case, and its outcome: either the outcome that gpuc predicts, or the real outcome."""

from collections.abc import Callable, Collection
from threading import BoundedSemaphore
from typing import Literal

from msgspec import Struct

from gpuc.kubernetes.amounts import Amounts
from gpuc.model.tenant import DEFAULT_REQUEST
from gpuc.trace.steps import Component
from gpuc_rehearsal.client import ApiError, Client, Object

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


class Outcome(Struct, frozen=True):
    """The expected or actual outcome of a test case."""

    verdict: Literal["complete", "bound", "admitted", "refused", "pending", "preempted", "unanswered"]
    by: Component | Literal[""] = ""
    """The component that refused the request, or that keeps the pods of the request pending."""
    flavor: str = ""
    """The ResourceFlavor that Kueue assigns; empty if Kueue assigns no flavor."""
    pool: str = ""
    """The pool of the nodes; empty if the pods get no nodes."""
    instance_types: tuple[str, ...] = ()
    """Expected: instance types that the nodes may have. Actual: instance types that the nodes have."""
    nodes: int | None = None
    """Number of nodes; None if the number is not compared."""
    borrowed: tuple[tuple[str, str], ...] | None = None
    """Borrowed amount by resource, in the format of Kueue's status; None if the amounts are not compared."""
    message: str = ""
    """Expected: a part of the component's message. Actual: the complete message."""


class Request(Struct, frozen=True):
    """A number of equal pods that start together, which a test case submits to a queue."""

    pod: Amounts
    """Resource requests of one pod. The LimitRange of the namespace adds default requests."""
    pods: int = 1
    pool: str = ""
    """The node pool that the pods select; empty if Kueue chooses a pool."""
    one_block: bool = False
    """Whether all pods must run in one block of the network topology."""

    @property
    def pod_with_defaults(self) -> Amounts:
        """The resource requests of one pod, including the default requests that the LimitRange adds."""
        return {**DEFAULT_REQUEST, **self.pod}

    @property
    def total(self) -> Amounts:
        """The resource requests of all pods of the request together, which Kueue counts against the quota."""
        return {name: amount * self.pods for name, amount in self.pod_with_defaults.items()}


def agrees(expected: Outcome, actual: Outcome) -> bool:
    """Returns whether two outcomes agree. Values that the expected outcome leaves empty are not compared."""
    named = ((expected.by, actual.by), (expected.flavor, actual.flavor), (expected.pool, actual.pool))
    return (
        actual.verdict == expected.verdict
        and all(not wanted or wanted == found for wanted, found in named)
        and (not expected.instance_types or set(actual.instance_types) <= set(expected.instance_types))
        and (expected.nodes is None or actual.nodes == expected.nodes)
        and (expected.borrowed is None or set(expected.borrowed) == set(actual.borrowed or ()))
        and expected.message in actual.message
    )


def classify_response(client: Client, request: Callable[[], object], ignored_warnings: Collection[str] = ()) -> Outcome:
    """Sends a request, and returns the outcome: admitted or refused.

    The outcome contains the warnings of the API server, without those that contain a text of `ignored_warnings`.
    """
    try:
        with _REQUESTS:
            request()
    except ApiError as error:
        return refused(error)
    warnings = "; ".join(row for row in client.warnings if not any(text in row for text in ignored_warnings))
    return Outcome("admitted", by="policy" if _is_from_policy(warnings) else "", message=warnings or NO_OBJECTION)


def dry_run(client: Client, document: Object, ignored_warnings: Collection[str] = ()) -> Outcome:
    """Sends an object to the API server as a dry run, and returns the outcome: admitted or refused."""
    return classify_response(client, lambda: client.create(document, dry_run=True), ignored_warnings)


def refused(error: ApiError) -> Outcome:
    """Returns the outcome "refused" for the error with which the API server refuses a request."""
    return Outcome("refused", by=refusing_component(error.message), message=error.message)


def refusing_component(message: str) -> Component:
    """Returns which component refused a request, according to the message: a policy, a quota or the API server.

    If the CEL expression of a policy failed, the result is "API server", because the policy made no decision.
    """
    if _is_from_policy(message):
        return "API server" if any(failure in message for failure in _EXPRESSION_FAILURES) else "policy"
    return "quota" if "exceeded quota" in message else "API server"


def _is_from_policy(message: str) -> bool:
    return any(phrase in message for phrase in _POLICY_MESSAGES)
