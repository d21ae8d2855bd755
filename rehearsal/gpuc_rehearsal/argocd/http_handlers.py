"""Charts, and HTTP handlers that replace the external hosts of Argo CD: Git server, Helm repositories, registries."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, run
from typing import Any
from urllib.parse import urlsplit

from gpuc.cluster.application import Source
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import load_yaml

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
ARCHIVE_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TEXT = "text/plain"
JSON = "application/json"


class ChartError(UsageError):
    """A file is not a chart. The message contains the path of the file."""


@dataclass(frozen=True)
class Chart:
    """A chart in an archive."""

    file: Path
    name: str
    version: str
    metadata: Mapping[str, Any]
    """The content of Chart.yaml."""


@dataclass(frozen=True)
class Blob:
    """A blob of an OCI registry."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    def descriptor(self) -> dict[str, Any]:
        """Returns the descriptor of the blob for an OCI manifest."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}


class Charts:
    """Charts by name and version. An added chart replaces the chart with the same name and version."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Reads every .tgz file of the folders.

        Raises:
            ChartError: if a file is not a chart.
        """
        self._charts: dict[tuple[str, str], Chart] = {}
        for folder in folders:
            for file in sorted(folder.glob("*.tgz")):
                self.add(read_chart(file))

    def add(self, chart: Chart) -> None:
        """Adds a chart, or replaces the chart with the same name and version."""
        self._charts[chart.name, chart.version] = chart

    def find(self, name: str, version: str) -> Chart | None:
        """Returns the chart, or None if it does not exist. As in Helm, a leading v of the version is optional."""
        other = version.removeprefix("v") if version.startswith("v") else f"v{version}"
        return self._charts.get((name, version)) or self._charts.get((name, other))

    def named(self, name: str) -> list[Chart]:
        """Returns the charts of all versions with a name, in alphabetical order of the version."""
        return sorted((chart for chart in self._charts.values() if chart.name == name), key=lambda chart: chart.version)

    def repackage(self, helm: Path, chart: Chart, version: str, folder: Path) -> None:
        """Packages a chart again with another version in an empty folder, and adds the new chart."""
        with tarfile.open(chart.file) as archive:
            archive.extractall(folder / version, filter="data")
        source = folder / version / chart.name
        command = [str(helm), "package", str(source), "--version", version, "--destination", str(folder)]
        run(command, check=True, stdout=DEVNULL)
        self.add(read_chart(folder / f"{chart.name}-{version}.tgz"))


def read_chart(file: Path) -> Chart:
    """Reads Chart.yaml from the archive of a chart.

    Raises:
        ChartError: if the file is not a chart.
    """
    try:
        with tarfile.open(file) as archive:
            for member in archive:
                if member.name.count("/") == 1 and member.name.endswith("/Chart.yaml"):
                    content = archive.extractfile(member)
                    metadata = load_yaml(content.read().decode()) if content else None
                    if isinstance(metadata, dict) and {"name", "version"} <= metadata.keys():
                        return Chart(file, str(metadata["name"]), str(metadata["version"]), metadata)
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError) as error:
        raise ChartError(f"{file} is not a chart: {error}") from None
    raise ChartError(f"{file} is not a chart: Chart.yaml with name and version is missing")


def index(charts: Iterable[Chart]) -> bytes:
    """Returns the index.yaml of a Helm repository. The archives are in the folder of index.yaml."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for chart in charts:
        digest = hashlib.sha256(chart.file.read_bytes()).hexdigest()
        row = {**chart.metadata, "urls": [chart.file.name], "digest": digest, "created": "2000-01-01T00:00:00Z"}
        entries.setdefault(chart.name, []).append(row)
    return json.dumps({"apiVersion": "v1", "entries": entries}, default=str).encode()


def registry_blobs(chart: Chart) -> tuple[Blob, Blob, Blob]:
    """Returns the blobs of a chart in an OCI registry: (manifest, configuration, archive)."""
    config = Blob(CONFIG_TYPE, json.dumps(dict(chart.metadata), default=str).encode())
    archive = Blob(ARCHIVE_TYPE, chart.file.read_bytes())
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": config.descriptor(),
        "layers": [archive.descriptor()],
    }
    return Blob(MANIFEST_TYPE, json.dumps(manifest).encode()), config, archive


def tag(version: str) -> str:
    """Returns the tag of a version in an OCI registry. Tags cannot contain a plus sign, so Helm writes _ instead."""
    return version.replace("+", "_")


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
