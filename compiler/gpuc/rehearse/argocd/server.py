"""The proxy on loopback by which Argo CD reaches the outside world: it ends TLS itself, or leads to a control plane."""

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

from gpuc.rehearse.argocd.hosts import Answer, Host, Request
from gpuc.rehearse.ports import LOOPBACK

CHUNK = 1 << 16
PASSED = ("Content-Type", "Content-Encoding", "Git-Protocol", "Accept", "Range")


class Proxy:
    """A proxy for CONNECT that knows some hosts and refuses all others."""

    def __init__(self, port: int, hosts: Mapping[str, Host], tunnels: Mapping[str, int]) -> None:
        """tunnels gives the port on loopback by host name; those connections pass through as they are."""
        self._hosts = dict(hosts)
        self._tunnels = dict(tunnels)
        self._port = port

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def start(self, certificate: Path, key: Path) -> Callable[[], None]:
        """Serves from a thread of its own with one certificate for all hosts; the answer ends the service."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        hosts, tunnels = self._hosts, self._tunnels

        class Handler(_Connect):
            def led(self, host: str) -> bool:
                if host in tunnels:
                    self._accept()
                    _tunnel(self.connection, tunnels[host])
                elif host in hosts:
                    self._accept()
                    _serve(context, self.connection, hosts[host])
                return host in tunnels or host in hosts

        server = ThreadingHTTPServer((LOOPBACK, self._port), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, name="proxy", daemon=True).start()

        def stop() -> None:
            server.shutdown()
            server.server_close()

        return stop


class _Connect(BaseHTTPRequestHandler):
    """Takes CONNECT and nothing else."""

    protocol_version = "HTTP/1.1"

    def led(self, host: str) -> bool:
        """Handles the connection where the host is known."""
        raise NotImplementedError

    def do_CONNECT(self) -> None:
        self.close_connection = True
        host = self.path.rpartition(":")[0]
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            if not self.led(host):
                self.send_error(502, f"the rehearsal has no {host}")

    def _accept(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: the programs' own logs have their requests."""


class _Inner(BaseHTTPRequestHandler):
    """Requests inside of one TLS connection, all to the same host."""

    protocol_version = "HTTP/1.1"
    host: Host

    def do_GET(self) -> None:
        headers = {name: self.headers[name] for name in PASSED if name in self.headers}
        request = Request("GET" if self.command == "HEAD" else self.command, self.path, headers, self._body())
        self._send(type(self).host(request))

    do_HEAD = do_GET  # noqa: N815
    do_POST = do_GET  # noqa: N815

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.code)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return read_chunked(self.rfile)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: the programs' own logs have their requests."""


def read_chunked(stream: IO[bytes] | BufferedIOBase) -> bytes:
    """A body that comes in pieces, each after its size in hexadecimal."""
    parts = []
    while size := int(stream.readline().split(b";")[0], 16):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass  # trailers
    return b"".join(parts)


def _serve(context: ssl.SSLContext, connection: socket.socket, host: Host) -> None:
    with context.wrap_socket(connection, server_side=True) as inside:
        handler = type("_HostHandler", (_Inner,), {"host": staticmethod(host)})
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
