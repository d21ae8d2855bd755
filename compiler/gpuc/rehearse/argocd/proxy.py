"""A proxy on loopback for Argo CD. It serves known hosts itself, or tunnels the connection to a control plane."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import IO

from gpuc.rehearse.argocd.http_handlers import Handler, Request, Response
from gpuc.rehearse.ports import LOOPBACK

CHUNK = 1 << 16
PASSED = ("Content-Type", "Content-Encoding", "Git-Protocol", "Accept", "Range")


class Proxy:
    """A CONNECT proxy that accepts only known hosts."""

    def __init__(self, port: int, hosts: Mapping[str, Handler], tunnels: Mapping[str, int]) -> None:
        """tunnels maps host names to ports on loopback. The proxy forwards their bytes unchanged."""
        self._hosts = dict(hosts)
        self._tunnels = dict(tunnels)
        self._port = port

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def start(self, certificate: Path, key: Path) -> Callable[[], None]:
        """Starts a thread that serves all hosts with one certificate. Returns a function that stops it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        hosts, tunnels = self._hosts, self._tunnels

        class ConnectHandler(_Connect):
            def forward(self, host: str) -> bool:
                if host in tunnels:
                    self._accept()
                    _tunnel(self.connection, tunnels[host])
                elif host in hosts:
                    self._accept()
                    _serve(context, self.connection, hosts[host])
                return host in tunnels or host in hosts

        server = ThreadingHTTPServer((LOOPBACK, self._port), ConnectHandler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, name="proxy", daemon=True).start()

        def stop() -> None:
            server.shutdown()
            server.server_close()

        return stop


class _Connect(BaseHTTPRequestHandler):
    """Handles CONNECT requests."""

    protocol_version = "HTTP/1.1"

    def forward(self, host: str) -> bool:
        """Serves the connection. Returns False for an unknown host."""
        raise NotImplementedError

    def do_CONNECT(self) -> None:
        self.close_connection = True
        host = self.path.rpartition(":")[0]
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            if not self.forward(host):
                self.send_error(502, f"the rehearsal does not serve {host}")

    def _accept(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing, because the programs log their own requests."""


class _TlsRequests(BaseHTTPRequestHandler):
    """Handles the requests of one TLS connection to a host."""

    protocol_version = "HTTP/1.1"
    host: Handler

    def do_GET(self) -> None:
        headers = {name: self.headers[name] for name in PASSED if name in self.headers}
        request = Request("GET" if self.command == "HEAD" else self.command, self.path, headers, self._body())
        self._send(type(self).host(request))

    do_HEAD = do_GET  # noqa: N815
    do_POST = do_GET  # noqa: N815

    def _send(self, response: Response) -> None:
        self.send_response(response.code)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(response.content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.content)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return read_chunked(self.rfile)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Logs nothing, because the programs log their own requests."""


def read_chunked(stream: IO[bytes] | BufferedIOBase) -> bytes:
    """Reads a body with chunked transfer encoding."""
    parts = []
    while size := int(stream.readline().split(b";")[0], 16):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass  # trailers
    return b"".join(parts)


def _serve(context: ssl.SSLContext, connection: socket.socket, host: Handler) -> None:
    with context.wrap_socket(connection, server_side=True) as inside:
        handler = type("_HostHandler", (_TlsRequests,), {"host": staticmethod(host)})
        handler(inside, (LOOPBACK, 0), None)


def _tunnel(connection: socket.socket, port: int) -> None:
    with socket.create_connection((LOOPBACK, port)) as other:
        back = threading.Thread(target=_copy, args=(other, connection), daemon=True)
        back.start()
        _copy(connection, other)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
