"""The proxy through which Argo CD reaches Git, charts and other clusters."""

import http.client
import io
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuc.cluster.application import Destination
from gpuc_rehearsal.argocd.charts import ServedFile
from gpuc_rehearsal.argocd.cluster import cluster_secret
from gpuc_rehearsal.argocd.servers import cgi_response, read_chunked, start_hosts, start_proxy
from gpuc_rehearsal.plane.site import Authority
from gpuc_rehearsal.process import LOOPBACK, free_ports

HOST = "git.example.com"


ECHO = """#!/bin/sh
printf 'Content-Type: text/plain\r\n\r\n%s %s?%s ' "$REQUEST_METHOD" "$PATH_INFO" "$QUERY_STRING"
exec cat
"""
"""A program in place of Git: it answers with the request."""


@pytest.fixture
def other() -> Iterator[int]:
    """A server that is reached through a tunnel: it answers with the bytes that it got."""
    with socket.create_server((LOOPBACK, 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(100).upper())

        threading.Thread(target=serve, daemon=True).start()
        yield int(server.getsockname()[1])


@pytest.fixture
def proxy(tmp_path: Path, other: int) -> Iterator[tuple[int, Path]]:
    pytest.importorskip("cryptography", reason="the package cryptography is not installed")
    authority = Authority(tmp_path)
    git = tmp_path / "git"
    git.write_text(ECHO, encoding="utf-8")
    git.chmod(0o755)
    port, hosts_port = free_ports(2)
    certificate = authority.issue("proxy", "proxy", hosts=(HOST,))
    files = {HOST: {"index.yaml": ServedFile(b"{}", "application/yaml")}}
    stops = [
        start_hosts(hosts_port, certificate, files, git, {HOST: tmp_path}),
        start_proxy(port, {HOST: hosts_port, "cluster.example.com": other}),
    ]
    yield port, authority.file
    for stop in stops:
        stop()


def connected(port: int, authority: Path, host: str) -> http.client.HTTPSConnection:
    context = ssl.create_default_context(cafile=str(authority))
    connection = http.client.HTTPSConnection(LOOPBACK, port, context=context)
    connection.set_tunnel(host, 443)
    return connection


def test_several_requests_of_one_connection_reach_the_host(proxy: tuple[int, Path]) -> None:
    connection = connected(*proxy, HOST)
    for method, body in (("GET", b""), ("POST", b"pack")):
        connection.request(method, "/fleet.git?x=1", body)
        assert connection.getresponse().read() == f"{method} /fleet.git?x=1 {body.decode()}".encode()


def test_a_body_without_a_length_arrives(proxy: tuple[int, Path]) -> None:
    connection = connected(*proxy, HOST)
    connection.request("POST", "/", iter([b"one ", b"two"]), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
    assert connection.getresponse().read() == b"POST /? one two"


def test_head_has_no_content(proxy: tuple[int, Path]) -> None:
    connection = connected(*proxy, HOST)
    connection.request("HEAD", "/index.yaml")
    response = connection.getresponse()
    assert (response.headers["Content-Length"], response.read()) == ("2", b"")
    connection.request("GET", "/index.yaml")
    response = connection.getresponse()
    assert (response.headers["Content-Type"], response.read()) == ("application/yaml", b"{}")


def test_an_unknown_host_is_refused(proxy: tuple[int, Path]) -> None:
    with pytest.raises(OSError, match="502"):
        connected(*proxy, "elsewhere.example.com").request("GET", "/")


def test_a_cluster_is_reached_as_it_is(proxy: tuple[int, Path]) -> None:
    with socket.create_connection((LOOPBACK, proxy[0])) as connection:
        connection.sendall(b"CONNECT cluster.example.com:443 HTTP/1.1\r\nHost: cluster.example.com\r\n\r\n")
        stream = connection.makefile("rwb")
        assert stream.readline().startswith(b"HTTP/1.1 200")
        assert stream.readline() == b"\r\n"
        stream.write(b"bytes")
        stream.flush()
        assert stream.read(5) == b"BYTES"


def test_pieces_of_a_body_are_joined() -> None:
    assert read_chunked(io.BytesIO(b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n")) == b"abc0123456789"


def test_a_cgi_program_sets_the_status() -> None:
    response = cgi_response(b"Status: 404 Not Found\r\nContent-Type: text/plain\r\n\r\nno\r\n\r\nsuch")
    assert response == (404, b"no\r\n\r\nsuch", {"Content-Type": "text/plain"})


def test_a_cluster_keeps_the_address_of_its_spec_and_is_reached_by_the_proxy(tmp_path: Path) -> None:
    files = tmp_path / "ca", tmp_path / "certificate", tmp_path / "key"
    for file in files:
        file.write_text(file.name)
    known = Destination("https://train.example.com", "")
    secret = cluster_secret("argocd", "train-usw2", known, "http://127.0.0.1:1", files)
    assert secret["metadata"]["labels"] == {"argocd.argoproj.io/secret-type": "cluster"}
    assert secret["stringData"]["server"] == "https://train.example.com"
    assert secret["stringData"]["name"] == "train-usw2"
    config = json.loads(secret["stringData"]["config"])
    assert config["proxyUrl"] == "http://127.0.0.1:1"
    assert config["tlsClientConfig"].items() >= {"serverName": "localhost", "insecure": False, "caData": "Y2E="}.items()
