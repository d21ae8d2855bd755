"""The client waits and sends a request again where the API server asks for it."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpuc_rehearsal.client import ApiError, Client
from gpuc_rehearsal.connection import ATTEMPTS
from gpuc_rehearsal.plane.site import Authority

LATER = (429, {"Retry-After": "0"}, b'{"message": "storage is (re)initializing", "reason": "TooManyRequests"}')
UNKNOWN_KIND = (422, {}, b'{"message": "failed to find resource referenced by paramKind: Kind=GpucImages"}')
NEW_NAMESPACE = (404, {}, b'{"message": "webhook denied the request: Namespace \\"team\\" not found"}')
REFUSED = (429, {}, b'{"message": "the disruption budget", "reason": "TooManyRequests"}')
FOUND = (200, {}, b'{"items": []}')
Answers = list[tuple[int, dict[str, str], bytes]]


@contextmanager
def server(folder: Path, answers: Answers) -> Iterator[Client]:
    """A server that gives the answers in their order, and its client."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, headers, body = answers.pop(0)
            self.send_response(code)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    authority = Authority(folder)
    certificate, key = authority.issue("server", "server", hosts=("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.socket = context.wrap_socket(found.socket, server_side=True)
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield Client(f"https://127.0.0.1:{found.server_port}", authority.file, authority.issue("client", "client"))
        found.shutdown()


def test_a_request_that_the_server_wants_later_is_sent_again(tmp_path: Path) -> None:
    answers = [LATER, LATER, UNKNOWN_KIND, NEW_NAMESPACE, FOUND]
    with server(tmp_path, answers) as client:
        assert client.send("GET", "/api", None, "application/json") == {"items": []}
    assert answers == []


@pytest.mark.parametrize("answers", [[LATER] * ATTEMPTS, [REFUSED]], ids=["later", "refused"])
def test_a_request_is_not_sent_for_ever_and_a_refused_one_not_again(answers: Answers, tmp_path: Path) -> None:
    left = [*answers, FOUND]
    with server(tmp_path, left) as client, pytest.raises(ApiError, match=r"initializing|disruption budget"):
        client.send("GET", "/api", None, "application/json")
    assert left == [FOUND]
