"""The HTTPS connections of a client to the API server. A request that comes too early is sent again."""

import http.client
import re
import ssl
import threading
import time
from http import HTTPStatus

REQUEST_TIMEOUT_SECONDS = 60
ATTEMPTS = 40
"""How often a request is sent again if the API server asks to send it later: usually once in a second.

The API server reads the list of kinds every 30 s (k8s.io/apiserver v0.35.4 pkg/server/options/admission.go).
"""
_TOO_EARLY = re.compile(rb"resource referenced by paramKind|denied the request: Namespace [^ ]+ not found")
"""Patterns for refusals of requests that come too early.

The constraint kind of a ValidatingAdmissionPolicy can be too new for the API server, and the namespace of an object can
be too new for a webhook. In a real cluster Gatekeeper creates the binding 30 s after the kind, but the Gatekeeper of a
rehearsal after 1 s.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/policy/generic/policy_source.go
"""


class Connection:
    """The connections to one API server: each thread has its own connection."""

    def __init__(self, address: str, context: ssl.SSLContext) -> None:
        """Creates a connection. address: host and port of the API server."""
        self._address = address
        self._context = context
        self._thread = threading.local()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that the API server sent with the last response to the current thread."""
        warnings: tuple[str, ...] = getattr(self._thread, "warnings", ())
        return warnings

    def answer(self, verb: str, address: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """Sends a request, if necessary several times, and returns the status code and the body of the response.

        Raises:
            TimeoutError: if no response arrives in time.
        """
        for attempt in range(ATTEMPTS):
            try:
                code, body, seconds = self._send(verb, address, data, headers)
            except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError):
                self._thread.connection.close()  # the server closed the idle connection; all requests are safe to retry
                code, body, seconds = self._send(verb, address, data, headers)
            if seconds is None or attempt == ATTEMPTS - 1:
                break
            time.sleep(seconds)
        return code, body

    def _send(
        self, verb: str, address: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, float | None]:
        """Returns the status code, the body, and the seconds after which the request should be sent again."""
        if not hasattr(self._thread, "connection"):
            new = http.client.HTTPSConnection(self._address, timeout=REQUEST_TIMEOUT_SECONDS, context=self._context)
            self._thread.connection = new
        connection: http.client.HTTPSConnection = self._thread.connection
        try:
            connection.request(verb, address, data, headers)
            response = connection.getresponse()
            # A header is for example `299 - "unknown field"`.
            texts = (row.partition('"')[2].rpartition('"')[0] for row in response.headers.get_all("Warning") or ())
            self._thread.warnings = tuple(text.replace('\\"', '"') for text in texts)
            body = response.read()
            return response.status, body, _wait_s(response, body)
        except BaseException:
            connection.close()
            raise


def _wait_s(response: http.client.HTTPResponse, body: bytes) -> float | None:
    """Returns the seconds after which a request should be sent again; None if the API server has answered the request.

    The API server sends Retry-After while it starts the cache of a new kind, and when it has too many requests.

    Source: k8s.io/client-go v0.35.4 rest/with_retry.go (checkWait); k8s.io/apiserver v0.35.4
    pkg/storage/cacher/ready.go
    """
    value = response.headers.get("Retry-After", "")
    is_refusal = response.status == HTTPStatus.TOO_MANY_REQUESTS or response.status >= 500
    if is_refusal and value.isdigit():
        return float(value)
    return 1 if response.status >= 400 and _TOO_EARLY.search(body) else None
