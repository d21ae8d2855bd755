"""Helm charts, and the files of the Helm repositories and OCI registries from which Argo CD downloads charts."""

import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from gpuc.cluster.application import Source
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import load_yaml

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
ARCHIVE_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
JSON = "application/json"


class ChartError(UsageError):
    """The error for a file that is not a Helm chart. The message contains the path of the file."""


class Chart(NamedTuple):
    """A Helm chart in a .tgz archive."""

    file: Path
    name: str
    version: str
    metadata: Mapping[str, Any]
    """The content of Chart.yaml."""


class ServedFile(NamedTuple):
    """A file that a simulated server sends: its content and media type."""

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    def descriptor(self) -> dict[str, Any]:
        """Returns the descriptor of the file for an OCI manifest: media type, digest and size."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}


Files = dict[str, ServedFile]
"""The files of a host by path, without the first slash."""


class Charts:
    """The available Helm charts, by name and version."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Reads every .tgz file of the folders. Raises ChartError if a file is not a chart."""
        self._charts: dict[tuple[str, str], Chart] = {}
        for file in (file for folder in folders for file in sorted(folder.glob("*.tgz"))):
            self.add(read_chart(file))

    def add(self, chart: Chart) -> None:
        """Adds a chart to the available charts. A chart with the same name and version is replaced."""
        self._charts[chart.name, chart.version] = chart

    def find(self, name: str, version: str) -> Chart | None:
        """Returns the chart; None if no such chart is available. As in Helm, a leading v of the version is optional."""
        other = version.removeprefix("v") if version.startswith("v") else f"v{version}"
        return self._charts.get((name, version)) or self._charts.get((name, other))

    def files(self, sources: Iterable[Source]) -> dict[str, Files]:
        """Returns the files of each chart repository that the sources of Applications name, by host and path."""
        names: dict[str, set[str]] = {}
        for source in sources:
            names.setdefault(source.url, set()).add(source.chart)
        found: dict[str, Files] = {}
        for url, in_repository in names.items():
            host, folder = address(url)
            charts = [chart for _, chart in sorted(self._charts.items()) if chart.name in in_repository]
            found.setdefault(host, {}).update((_helm_files if url.startswith("http") else _oci_files)(folder, charts))
        return found


def read_chart(file: Path) -> Chart:
    """Reads Chart.yaml from the archive of a chart. Raises ChartError if the file is not a chart."""
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


def address(url: str) -> tuple[str, str]:
    """Returns the host of a URL, and the path of the URL without slashes at the start and the end."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return parts.netloc, parts.path.strip("/")


def _helm_files(folder: str, charts: Iterable[Chart]) -> Iterator[tuple[str, ServedFile]]:
    """Yields the files of a Helm repository. The archives are in the folder of index.yaml."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for chart in charts:
        archive = ServedFile(chart.file.read_bytes(), "application/gzip")
        digest = archive.digest.removeprefix("sha256:")
        row = {**chart.metadata, "urls": [chart.file.name], "digest": digest, "created": "2000-01-01T00:00:00Z"}
        entries.setdefault(chart.name, []).append(row)
        yield f"{folder}/{chart.file.name}".strip("/"), archive
    yield f"{folder}/index.yaml".strip("/"), _json({"apiVersion": "v1", "entries": entries}, "application/yaml")


def _oci_files(folder: str, charts: Iterable[Chart]) -> Iterator[tuple[str, ServedFile]]:
    """Yields the files of the OCI distribution API that a client reads to pull a chart.

    Source: github.com/opencontainers/distribution-spec v1.1, "Pull" and "Content discovery"
    """
    yield "v2", _json({}, JSON)
    tags: dict[str, list[str]] = {}
    for chart in charts:
        name = f"{folder}/{chart.name}".strip("/")
        tag = chart.version.replace("+", "_")  # tags cannot contain a plus sign
        tags.setdefault(name, []).append(tag)
        config, archive = _json(chart.metadata, CONFIG_TYPE), ServedFile(chart.file.read_bytes(), ARCHIVE_TYPE)
        described = {"config": config.descriptor(), "layers": [archive.descriptor()]}
        manifest = _json({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, **described}, MANIFEST_TYPE)
        yield from ((f"v2/{name}/manifests/{reference}", manifest) for reference in (tag, manifest.digest))
        yield from ((f"v2/{name}/blobs/{blob.digest}", blob) for blob in (config, archive))
    for name, listed in tags.items():
        yield f"v2/{name}/tags/list", _json({"name": name, "tags": listed}, JSON)


def _json(value: Mapping[str, Any], media_type: str) -> ServedFile:
    return ServedFile(json.dumps(dict(value), default=str).encode(), media_type)
