"""Renders the output files of all clusters of a command as YAML. Texts of unchanged files are reused."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Artifact
    from gpuc.manifest.output_file import OutputFile
    from gpuc.pipeline.pipeline import Compiled
    from gpuc.source import Source
    from gpuc.synth.printer import Printer
    from gpuc.write.lockfile import Lock, Removals, Versions
    from gpuc.write.writer import Output

Send = Callable[[str, "Sequence[Artifact]", "Source"], None]
"""Receives the name of a cluster, the artifacts of an emitter, and the source of the spec."""


class _ClusterFiles(Struct):
    """The output files of a cluster, and the texts that are reused."""

    lock: "Lock | None"
    """The gpuc.lock of the last compile; None if all files must be rendered."""
    output_files: "dict[str, OutputFile]" = field(default_factory=dict)
    reused: dict[str, str] = field(default_factory=dict)
    """The texts of unchanged files, by file."""
    requests: int = 0
    """The number of requests to the printer."""


class RenderSession:
    """Sends the output files of all clusters to the printer, a Node.js process, and collects the texts.

    `start` must be called before the first `send`. It starts Node.js, which loads cdk8s while Python imports the
    stages. `output` must be called for the clusters in the same order as `send`.

    Args:
        into: the folder that contains out/ and clusters/.
        reuse: whether to reuse the text of a file below `into` if the file was rendered from the same data.
    """

    def __init__(self, into: Path, *, reuse: bool) -> None:
        self._printer: Printer | None = None
        self._into = into
        self._reuse = reuse
        self._clusters: dict[str, _ClusterFiles] = {}

    def start(self) -> None:
        """Starts Node.js, if it is not running yet.

        Raises:
            PrinterError: when Node.js or cdk8s is missing or cannot be started.
        """
        from gpuc.synth.printer import Printer  # imported here, because most runs render nothing

        self._printer = self._printer or Printer.start()

    def send(self, name: str, artifacts: "Sequence[Artifact]", source: "Source") -> None:
        """Sends the changed output files of a cluster to the printer, a Node.js process.

        All artifacts of an output file must be in the same call.
        """
        from gpuc.manifest.output_file import output_files
        from gpuc.write.lockfile import read_lock

        assert self._printer is not None, "the session is started"
        if name not in self._clusters:
            self._clusters[name] = _ClusterFiles(read_lock(self._into, name) if self._reuse else None)
        cluster = self._clusters[name]
        files = output_files(artifacts, source.file)
        reused = self._unchanged_texts(files, cluster.lock) if cluster.lock else {}
        self._printer.send(output_file for file, output_file in files.items() if file not in reused)
        cluster.output_files |= files
        cluster.reused |= reused
        cluster.requests += 1

    def output(self, name: str, source: "Source", removals: "Removals") -> "Output":
        """Returns the texts of all output files of a cluster, and its gpuc.lock."""
        from gpuc.write.lockfile import render
        from gpuc.write.writer import Output

        assert self._printer is not None, "the session is started"
        cluster = self._clusters.pop(name)
        rendered = dict(cluster.reused)
        for _ in range(cluster.requests):
            rendered |= self._printer.texts()
        texts = {file: rendered[file] for file in cluster.output_files}
        lock = render(cluster.output_files, texts, _versions(), lambda path: source.locate(path).file, removals)
        return Output(name, texts, lock)

    def _unchanged_texts(self, files: "dict[str, OutputFile]", lock: "Lock") -> dict[str, str]:
        from gpuc.write.filesystem import RefusedError, SafeDir
        from gpuc.write.lockfile import unchanged_texts

        try:
            with SafeDir(self._into) as folder:
                return unchanged_texts(files.values(), lock, _versions(), folder.read)
        except (OSError, RefusedError, ValueError):
            return {}

    def __enter__(self) -> "RenderSession":
        return self

    def __exit__(self, *_: object) -> None:
        if self._printer is not None:
            self._printer.abandon()


class Rendered(Struct, frozen=True):
    """The output files of a compiled cluster as texts."""

    file: str
    """The spec file."""
    before: "Lock | None"
    """The gpuc.lock of the output before; None if there was no output."""
    output: "Output"


class Renderer:
    """Renders the output of a cluster while gpuc compiles the next cluster. So the memory holds at most two clusters.

    Args:
        use: receives the output of each cluster, in the order of `add`.
    """

    def __init__(self, session: RenderSession, use: Callable[[Rendered], None]) -> None:
        self.start = session.start
        self._session = session
        self._use = use
        self._waiting: Compiled | None = None

    def add(self, cluster: "Compiled") -> None:
        """Renders the cluster that the previous call took, and takes this compiled cluster for the next call."""
        self.finish()
        self._waiting = cluster

    def finish(self) -> None:
        """Renders the cluster that was passed last to `add`. Must be called after the last call of `add`."""
        if cluster := self._waiting:
            self._waiting = None
            output = self._session.output(cluster.name, cluster.source, cluster.removals)
            self._use(Rendered(cluster.source.file, cluster.before, output))


def _versions() -> "Versions":
    from gpuc import __version__
    from gpuc.synth.cdk8s import cdk8s_version
    from gpuc.write.lockfile import Versions

    return Versions(__version__, cdk8s_version())
