"""Answers of the API server after which a client sends the same request again."""

from __future__ import annotations

from http import HTTPStatus
from http.client import HTTPResponse

ATTEMPTS = 40
"""Number of times that a request is sent which the API server wants later: usually once in a second.

The API server reads the list of kinds every 30 s (k8s.io/apiserver v0.35.4 pkg/server/options/admission.go).
"""
_UNKNOWN_PARAMETER_KIND = b"failed to find resource referenced by paramKind"
"""Part of the refusal of a ValidatingAdmissionPolicy whose constraint kind is too new for the API server.

In a real cluster Gatekeeper creates the binding 30 s after the kind, but the Gatekeeper of a rehearsal after 1 s.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/policy/generic/policy_source.go
"""


def wait_s(response: HTTPResponse, body: bytes) -> float | None:
    """Returns the seconds after which a request should be sent again; None if the API server has answered the request.

    The API server sends Retry-After while it starts the cache of a new kind, and when it has too many requests.

    Source: k8s.io/client-go v0.35.4 rest/with_retry.go (checkWait); k8s.io/apiserver v0.35.4
    pkg/storage/cacher/ready.go
    """
    value = response.headers.get("Retry-After", "")
    is_refusal = response.status == HTTPStatus.TOO_MANY_REQUESTS or response.status >= 500
    if is_refusal and value.isdigit():
        return float(value)
    return 1 if response.status >= 400 and _UNKNOWN_PARAMETER_KIND in body else None
