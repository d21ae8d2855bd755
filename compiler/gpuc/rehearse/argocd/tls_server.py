"""HTTPS servers in threads, which replace servers of programs that do not run."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class JsonHandler(BaseHTTPRequestHandler):
    """A handler of requests with answers in JSON."""

    protocol_version = "HTTP/1.1"

    def answer(self, code: int, content: bytes) -> None:
        """Sends a response with a status code."""
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing, because the API server logs its requests."""


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
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, name=name, daemon=True).start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return stop
