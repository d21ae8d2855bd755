"""Charts as archives of `helm pull`, and the contents of a Helm repository and an OCI registry with these charts."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, run
from typing import Any

from gpuc.diagnostics.usage import UsageError
from gpuc.documents.reader import load_yaml

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.cncf.helm.config.v1+json"
ARCHIVE_TYPE = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


class ChartError(UsageError):
    """A file is not a chart. The message contains the path of the file."""


@dataclass(frozen=True)
class Chart:
    """A chart in an archive."""

    file: Path
    metadata: Mapping[str, Any]
    """The content of Chart.yaml."""

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def version(self) -> str:
        return str(self.metadata["version"])


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
        return self._charts.get((name, version)) or self._charts.get((name, _toggle_v(version)))

    def named(self, name: str) -> list[Chart]:
        """Returns the charts of all versions with a name, in alphabetical order of the version."""
        return sorted((chart for chart in self._charts.values() if chart.name == name), key=lambda chart: chart.version)

    def repackage(self, helm: Path, chart: Chart, version: str, folder: Path) -> Chart:
        """Packages a chart again with another version, adds the new chart and returns it.

        Args:
            helm: path of the program helm.
            chart: the chart to copy.
            version: the version of the new chart.
            folder: an empty folder for the files of the new chart.
        """
        with tarfile.open(chart.file) as archive:
            archive.extractall(folder / version, filter="data")
        source = folder / version / chart.name
        command = [str(helm), "package", str(source), "--version", version, "--destination", str(folder)]
        run(command, check=True, stdout=DEVNULL)
        copy = read_chart(folder / f"{chart.name}-{version}.tgz")
        self.add(copy)
        return copy


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
                        return Chart(file, metadata)
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


def _toggle_v(version: str) -> str:
    return version.removeprefix("v") if version.startswith("v") else f"v{version}"
