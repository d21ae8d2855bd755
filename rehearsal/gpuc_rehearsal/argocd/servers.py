"""Threads of `gpuc rehearse --argocd`: servers that replace internet hosts, a proxy, and loops."""

import json
import os
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, Any, Self

from gpuc_rehearsal.argocd.charts import JSON, Files
from gpuc_rehearsal.client import ApiError
from gpuc_rehearsal.process import LOOPBACK, ProgramError

CHUNK = 1 << 16
_GIT = {
    "GIT_HTTP_EXPORT_ALL": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
    "REMOTE_ADDR": LOOPBACK,
}
_GIT_HEADERS = {
    "CONTENT_TYPE": "Content-Type",
    "HTTP_CONTENT_ENCODING": "Content-Encoding",
    "GIT_PROTOCOL": "Git-Protocol",
}


class BackgroundLoop:
    """A context manager that calls a function repeatedly until the `with` block ends.

    Errors of the API server do not end the loop; any other exception ends the loop.
    """

    def __init__(self, name: str, step: Callable[[], None], pause_s: float = 1.0) -> None:
        self._name, self._step, self._pause_s = name, step, pause_s
        self._stopped = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def require_alive(self) -> None:
        """Raises a ProgramError if the repeated function has raised an exception that ended the loop."""
        if self._failure is not None:
            raise ProgramError(f"{self._name} ended: {self._failure!r}") from self._failure

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                with suppress(ApiError, OSError, HTTPException):
                    self._step()
                self._stopped.wait(self._pause_s)
        except Exception as error:  # require_alive raises the error in the main thread
            self._failure = error


class QuietHandler(BaseHTTPRequestHandler):
    """A base class for handlers of HTTP requests. The handlers write no log."""

    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        """Returns the content of the HTTP request, with or without chunked transfer encoding."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return read_chunked(self.rfile)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, code: int, content: bytes, headers: Mapping[str, str]) -> None:
        """Sends an HTTP response with a status code and headers, and with the content unless the method is HEAD."""
        self.send_response(code)
        for name, value in (*headers.items(), ("Content-Length", str(len(content)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def answer_json(self, code: int, document: Mapping[str, Any]) -> None:
        """Sends an HTTP response with a status code, and a JSON document as its content."""
        self.answer(code, json.dumps(document).encode(), {"Content-Type": JSON})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Overrides the log function of the base class, so that requests are not logged."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints the error of a request, except if the client closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | ssl.SSLError | TimeoutError):
            super().handle_error(request, client_address)


def start_server(
    name: str, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], files: tuple[Path, Path] | None = None
) -> Callable[[], None]:
    """Starts a server in a thread. Returns a function that stops the server.

    Args:
        name: the name of the thread.
        address: the IP address and the port.
        handler: the class that handles the requests.
        files: the certificate of the server and its key; None for a server without TLS.
    """
    server = _Server(address, handler)
    if files:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, name=name, daemon=True).start()

    def stop() -> None:
        server.shutdown()
        server.server_close()

    return stop


def start_hosts(
    port: int, certificate: tuple[Path, Path], files: Mapping[str, Files], git: Path, repositories: Mapping[str, Path]
) -> Callable[[], None]:
    """Starts an HTTPS server on loopback that replaces external hosts. Returns a function that stops the server.

    Args:
        certificate: a certificate that is valid for all hosts, and its key.
        files: the files of each host.
        repositories: the folder with the bare Git repositories of each host, which clients can only read.
        git: the path of the program.
    """
    served = {"files": files, "git": git, "repositories": repositories}
    return start_server("hosts", (LOOPBACK, port), type("_Hosts", (_Host,), served), certificate)


class _Host(QuietHandler):
    """Handles the requests of a connection to a host."""

    files: Mapping[str, Files]
    git: Path
    repositories: Mapping[str, Path]

    def do_GET(self) -> None:
        host, body = self.headers.get("Host", ""), self.body()
        path, _, query = self.path.partition("?")
        if found := self.files.get(host, {}).get(path.strip("/")):
            headers = {"Content-Type": found.media_type, "Docker-Content-Digest": found.digest}
            self.answer(200, found.content, headers)
        elif host in self.repositories:
            self.answer(*self._git_response(self.repositories[host], path, query, body))
        else:
            self.answer(404, b"not found\n", {"Content-Type": "text/plain"})

    do_HEAD = do_GET  # noqa: N815
    do_POST = do_GET  # noqa: N815

    def _git_response(self, folder: Path, path: str, query: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        environment = {
            **_GIT,
            **{name: self.headers.get(header, "") for name, header in _GIT_HEADERS.items()},
            "PATH": os.environ.get("PATH", ""),
            "GIT_PROJECT_ROOT": str(folder),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": "GET" if self.command == "HEAD" else self.command,
            "CONTENT_LENGTH": str(len(body)),
        }
        command = [str(self.git), "http-backend"]
        with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment) as process:
            return cgi_response(process.communicate(body)[0])


def cgi_response(output: bytes) -> tuple[int, bytes, dict[str, str]]:
    """Returns the status code, content and headers that a CGI program prints as headers, an empty line and content."""
    head, _, content = output.replace(b"\r\n\r\n", b"\n\n", 1).partition(b"\n\n")
    lines = (line.partition(":") for line in head.decode("latin-1").splitlines())
    headers = {name.strip(): value.strip() for name, _, value in lines}
    return int(headers.pop("Status", "200").split()[0]), content, headers


def read_chunked(stream: IO[bytes] | BufferedIOBase) -> bytes:
    """Reads the body of an HTTP request with chunked transfer encoding."""
    parts = []
    while size := int(stream.readline().split(b";")[0], 16):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass  # trailers have no use here
    return b"".join(parts)


def start_proxy(port: int, ports: Mapping[str, int]) -> Callable[[], None]:
    """Starts an HTTP proxy on loopback for the method CONNECT. Returns a function that stops the proxy.

    `ports` has the port on loopback to which the proxy connects, by host name. The proxy refuses other hosts.
    """
    return start_server("proxy", (LOOPBACK, port), type("_Proxy", (_Connect,), {"ports": ports}))


class _Connect(QuietHandler):
    """Handles the CONNECT request of one connection to the proxy."""

    ports: Mapping[str, int]

    def do_CONNECT(self) -> None:
        self.close_connection = True
        host = self.path.rpartition(":")[0]
        if host not in self.ports:
            self.send_error(502, f"the rehearsal does not serve {host}")
            return
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection((LOOPBACK, self.ports[host])) as server:
            responses = threading.Thread(target=_copy, args=(server, self.connection), daemon=True)
            responses.start()
            _copy(self.connection, server)
            responses.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
