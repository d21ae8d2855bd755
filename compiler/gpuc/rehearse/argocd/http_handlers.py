"""HTTP handlers that replace the external hosts of Argo CD: the Git server, Helm repositories and OCI registries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from urllib.parse import urlsplit

from gpuc.cluster.application import Source
from gpuc.rehearse.argocd.charts import Blob, Chart, Charts, index, registry_blobs, tag

TEXT = "text/plain"
JSON = "application/json"


@dataclass(frozen=True)
class Request:
    """An HTTP request."""

    method: str
    target: str
    """Path and query."""
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> str:
        return urlsplit(self.target).query


@dataclass(frozen=True)
class Response:
    """An HTTP response."""

    code: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[Request], Response]
NOT_FOUND = Response(404, b"not found\n", {"Content-Type": TEXT})


def git_handler(git: Path, folder: Path) -> Handler:
    """Returns a handler that serves the bare repositories of a folder, read-only. git is the path of the program."""

    def handle(request: Request) -> Response:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "GIT_PROJECT_ROOT": str(folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "PATH_INFO": request.path,
            "QUERY_STRING": request.query,
            "REQUEST_METHOD": request.method,
            "CONTENT_TYPE": request.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(request.body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        command = [str(git), "http-backend"]
        with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment) as process:
            output, _ = process.communicate(request.body)
        return cgi_response(output)

    return handle


def cgi_response(output: bytes) -> Response:
    """Parses the output of a CGI program: headers, an empty line and the content."""
    head, _, content = output.replace(b"\r\n\r\n", b"\n\n", 1).partition(b"\n\n")
    headers = {}
    for line in head.decode("latin-1").splitlines():
        name, _, value = line.partition(":")
        headers[name.strip()] = value.strip()
    code = int(headers.pop("Status", "200").split()[0])
    return Response(code, content, headers)


def chart_handlers(charts: Charts, sources: Iterable[Source]) -> dict[str, Handler]:
    """Returns handlers for chart repositories, by host name.

    All sources of a host must be of the same kind: Helm repositories or OCI registries.
    """
    by_host: dict[str, list[Source]] = {}
    for source in sources:
        by_host.setdefault(address(source.url)[0], []).append(source)
    return {
        host: (_helm_repository if of_host[0].url.startswith("http") else _registry)(charts, tuple(of_host))
        for host, of_host in by_host.items()
    }


def address(url: str) -> tuple[str, str]:
    """Returns the host of a repository, and the path on the host without slashes at the start and the end."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc, parts.path.strip("/")


def _helm_repository(charts: Charts, sources: tuple[Source, ...]) -> Handler:
    def handle(request: Request) -> Response:
        folder, _, file = request.path.strip("/").rpartition("/")
        names = {source.chart for source in sources if address(source.url)[1] == folder}
        available = [chart for name in sorted(names) for chart in charts.named(name)]
        if names and file == "index.yaml":
            return Response(200, index(available), {"Content-Type": "application/yaml"})
        for chart in available:
            if chart.file.name == file:
                return Response(200, chart.file.read_bytes(), {"Content-Type": "application/gzip"})
        return NOT_FOUND

    return handle


def _registry(charts: Charts, sources: tuple[Source, ...]) -> Handler:
    """Returns a handler for the requests of the OCI distribution API that pull a chart.

    Source: github.com/opencontainers/distribution-spec v1.1, "Pull" and "Content discovery"
    """
    names = {"/".join(filter(None, (address(source.url)[1], source.chart))): source.chart for source in sources}

    def handle(request: Request) -> Response:
        path = request.path.strip("/")
        if path == "v2":
            return Response(200, b"{}", {"Content-Type": JSON})
        for repository, name in names.items():
            if path.startswith(f"v2/{repository}/"):
                return _repository_response(repository, charts.named(name), path.removeprefix(f"v2/{repository}/"))
        return NOT_FOUND

    return handle


def _repository_response(repository: str, available: list[Chart], rest: str) -> Response:
    import json

    section, _, reference = rest.partition("/")
    if section == "tags" and reference == "list":
        listed = {"name": repository, "tags": [tag(chart.version) for chart in available]}
        return Response(200, json.dumps(listed).encode(), {"Content-Type": JSON})
    for chart in available:
        manifest, *others = registry_blobs(chart)
        if section == "manifests" and reference in (tag(chart.version), manifest.digest):
            return _blob(manifest)
        for blob in others:
            if section == "blobs" and reference == blob.digest:
                return _blob(blob)
    return NOT_FOUND


def _blob(blob: Blob) -> Response:
    return Response(200, blob.content, {"Content-Type": blob.media_type, "Docker-Content-Digest": blob.digest})
