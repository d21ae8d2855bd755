"""HTTPS servers in threads, which replace servers of programs that do not run, such as Kueue's visibility server."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gpuc.rehearse.certificates import Authority

GROUP = "visibility.kueue.x-k8s.io"
JSON = {"Content-Type": "application/json"}


class QuietHandler(BaseHTTPRequestHandler):
    """A handler of requests that logs nothing, because the clients log their requests."""

    protocol_version = "HTTP/1.1"

    def answer(self, code: int, content: bytes, headers: Mapping[str, str]) -> None:
        """Sends a response with a status code; without the content for the method HEAD."""
        self.send_response(code)
        for name, value in (*headers.items(), ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing."""


def start_server(
    name: str, address: tuple[str, int], files: tuple[Path, Path], handler: type[BaseHTTPRequestHandler]
) -> Callable[[], None]:
    """Starts a server in a thread. Returns a function that stops the server.

    Args:
        name: the name of the thread.
        address: the IP address and the port.
        files: the certificate of the server and its key.
        handler: the class that handles the requests.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    server = ThreadingHTTPServer(address, handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return serve(name, server)


def serve(name: str, server: ThreadingHTTPServer) -> Callable[[], None]:
    """Runs a server in a thread with this name. Returns a function that stops the server."""
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name=name, daemon=True).start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return stop


def serve_visibility(authority: Authority, address: str, port: int) -> Callable[[], None]:
    """Starts a server in a thread. Returns a function that stops the server.

    address and port: the address and the port of the Service. authority issues the certificate of the server.
    """
    files = authority.issue("visibility", GROUP, hosts=(address,))
    return start_server("visibility", (address, port), files, _Visibility)


def discovery(path: str) -> tuple[int, bytes]:
    """Returns (status code, content) of the response for a path."""
    segments = path.partition("?")[0].strip("/").split("/")
    if segments[:2] != ["apis", GROUP] or len(segments) != 3:
        return 404, b"{}"
    listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{segments[2]}", "resources": []}
    return 200, json.dumps(listed).encode()


class _Visibility(QuietHandler):
    def do_GET(self) -> None:
        self.answer(*discovery(self.path), JSON)
