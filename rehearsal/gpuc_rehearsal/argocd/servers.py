"""Servers in threads: HTTPS servers of programs that do not run, such as Kueue's visibility server, and a proxy."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from typing import IO

from gpuc.kubernetes.kueue import VISIBILITY
from gpuc_rehearsal.argocd.http_handlers import Handler, Request
from gpuc_rehearsal.certificates import Authority
from gpuc_rehearsal.process import LOOPBACK

JSON = {"Content-Type": "application/json"}
CHUNK = 1 << 16
FORWARDED_HEADERS = ("Content-Type", "Content-Encoding", "Git-Protocol", "Accept", "Range")


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
    server = ThreadingHTTPServer(address, handler)
    context = server_context(files)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return serve(name, server)


def server_context(files: tuple[Path, Path]) -> ssl.SSLContext:
    """Returns the TLS settings of a server with a certificate and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


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
    files = authority.issue("visibility", VISIBILITY, hosts=(address,))
    return start_server("visibility", (address, port), files, _Visibility)


def discovery(path: str) -> tuple[int, bytes]:
    """Returns (status code, content) of the response for a path."""
    segments = path.partition("?")[0].strip("/").split("/")
    if segments[:2] != ["apis", VISIBILITY] or len(segments) != 3:
        return 404, b"{}"
    listed = {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{VISIBILITY}/{segments[2]}",
        "resources": [],
    }
    return 200, json.dumps(listed).encode()


class _Visibility(QuietHandler):
    def do_GET(self) -> None:
        self.answer(*discovery(self.path), JSON)


def start_proxy(
    port: int, hosts: Mapping[str, Handler], tunnels: Mapping[str, int], files: tuple[Path, Path]
) -> Callable[[], None]:
    """Starts an HTTP proxy for the method CONNECT on loopback. Returns a function that stops the proxy.

    Args:
        hosts: handlers of requests, by host name. Connections to unknown hosts are refused.
        tunnels: ports on loopback, by host name. The proxy forwards the bytes of these connections unchanged.
        files: a certificate that is valid for all hosts with a handler, and its key.
    """
    served = {"hosts": hosts, "tunnels": tunnels, "context": server_context(files)}
    return serve("proxy", ThreadingHTTPServer((LOOPBACK, port), type("_ConnectHandler", (_Connect,), served)))


class _Connect(QuietHandler):
    """Handles the CONNECT requests of one connection to the proxy."""

    hosts: Mapping[str, Handler]
    tunnels: Mapping[str, int]
    context: ssl.SSLContext

    def do_CONNECT(self) -> None:
        self.close_connection = True
        host = self.path.rpartition(":")[0]
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            if host not in self.hosts and host not in self.tunnels:
                self.send_error(502, f"the rehearsal does not serve {host}")
                return
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self.wfile.flush()
            if host in self.tunnels:
                _tunnel(self.connection, self.tunnels[host])
            else:
                _serve(self.context, self.connection, self.hosts[host])


class _TlsRequests(QuietHandler):
    """Handles the requests of one TLS connection to a host."""

    host: Handler

    def do_GET(self) -> None:
        headers = {name: self.headers[name] for name in FORWARDED_HEADERS if name in self.headers}
        request = Request("GET" if self.command == "HEAD" else self.command, self.path, headers, self._body())
        response = type(self).host(request)
        self.answer(response.code, response.content, response.headers)

    do_HEAD = do_GET  # noqa: N815
    do_POST = do_GET  # noqa: N815

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return read_chunked(self.rfile)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))


def read_chunked(stream: IO[bytes] | BufferedIOBase) -> bytes:
    """Reads and returns a body with chunked transfer encoding."""
    parts = []
    while size := int(stream.readline().split(b";")[0], 16):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass  # trailers have no use here
    return b"".join(parts)


def _serve(context: ssl.SSLContext, connection: socket.socket, host: Handler) -> None:
    """Handles the requests of a TLS connection to a host until the client closes the connection."""
    with context.wrap_socket(connection, server_side=True) as tls_connection:
        handler = type("_HostHandler", (_TlsRequests,), {"host": staticmethod(host)})
        handler(tls_connection, (LOOPBACK, 0), None)


def _tunnel(connection: socket.socket, port: int) -> None:
    """Copies bytes in both directions between a connection and a port on loopback until both ends are closed."""
    with socket.create_connection((LOOPBACK, port)) as server:
        responses = threading.Thread(target=_copy, args=(server, connection), daemon=True)
        responses.start()
        _copy(connection, server)
        responses.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
