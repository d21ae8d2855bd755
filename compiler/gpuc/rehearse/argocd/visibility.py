"""A replacement for Kueue's visibility server, which serves the discovery of the APIs without any resources."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gpuc.rehearse.certificates import Authority

GROUP = "visibility.kueue.x-k8s.io"


def serve_visibility(authority: Authority, address: str, port: int) -> Callable[[], None]:
    """Starts a server in a thread. Returns a function that stops the server.

    address and port: the address and the port of the Service. authority issues the certificate of the server.
    """
    certificate, key = authority.issue("visibility", GROUP, hosts=(address,))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer((address, port), _Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, name="visibility", daemon=True).start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return stop


def discovery(path: str) -> tuple[int, bytes]:
    """Returns (status code, content) of the response for a path."""
    segments = path.partition("?")[0].strip("/").split("/")
    if segments[:2] != ["apis", GROUP] or len(segments) != 3:
        return 404, b"{}"
    listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{segments[2]}", "resources": []}
    return 200, json.dumps(listed).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        code, content = discovery(self.path)
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing, because the API server logs its requests."""
