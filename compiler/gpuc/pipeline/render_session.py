"""What one run prints: the output_files of each cluster, and the texts that need not be printed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.synth.printer import Printer

if TYPE_CHECKING:
    from types import TracebackType

    from gpuc.manifest.manifest import Artifact
    from gpuc.manifest.output_file import OutputFile
    from gpuc.source import Source
    from gpuc.write.lockfile import Departures, Lock, Versions
    from gpuc.write.writer import Output

Send = Callable[[str, "Sequence[Artifact]", "Source"], None]
"""Takes what one emitter made for a cluster, by the cluster's name."""


@dataclass
class _Asked:
    """What was sent of one cluster."""

    index: Lock | None
    """The index that stands in the tree, where texts may be kept."""
    output_files: dict[str, OutputFile] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    requests: int = 0


class RenderSession:
    """The printer, and what it was given; outputs are asked for in the order in which clusters were sent."""

    def __init__(self, printer: Printer, into: Path, keep: bool) -> None:
        self._printer = printer
        self._into = into
        self._keep = keep
        self._asked: dict[str, _Asked] = {}

    @classmethod
    def start(cls, into: Path, *, keep: bool) -> RenderSession:
        """A run whose Node starts now, while Python still imports.

        keep takes texts from the files below `into` where the index says that the same data printed them.
        """
        return cls(Printer.start(), into, keep)

    def send(self, name: str, artifacts: Sequence[Artifact], source: Source) -> None:
        """Asks for the texts of artifacts of a cluster that cannot be kept; a file's artifacts come at once."""
        from gpuc.manifest.output_file import output_files

        asked = self._asked.get(name) or self._begin(name)
        made = output_files(artifacts, source.file)
        kept = self._unchanged(made, asked.index) if asked.index else {}
        self._printer.send(output_file for file, output_file in made.items() if file not in kept)
        asked.output_files |= made
        asked.kept |= kept
        asked.requests += 1

    def output(self, name: str, source: Source, departures: Departures) -> Output:
        """All texts of a cluster, and its index."""
        from gpuc.write.lockfile import render
        from gpuc.write.writer import Output

        asked = self._asked[name]
        printed = dict(asked.kept)
        for _ in range(asked.requests):
            printed |= self._printer.texts()
        texts = {file: printed[file] for file in asked.output_files}
        index = render(asked.output_files, texts, _versions(), lambda path: source.locate(path).file, departures)
        return Output(name, texts, index)

    def _begin(self, name: str) -> _Asked:
        from gpuc.write.lockfile import stored

        asked = self._asked[name] = _Asked(stored(self._into, name) if self._keep else None)
        return asked

    def _unchanged(self, made: dict[str, OutputFile], index: Lock) -> dict[str, str]:
        from gpuc.write.filesystem import RefusedError, SafeDir
        from gpuc.write.lockfile import unchanged

        try:
            with SafeDir(self._into) as tree:
                return unchanged(made.values(), index, _versions(), tree.read)
        except (OSError, RefusedError, ValueError):
            return {}

    def __enter__(self) -> RenderSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._printer.abandon()


def _versions() -> Versions:
    from gpuc import __version__
    from gpuc.synth.cdk8s import cdk8s_version
    from gpuc.write.lockfile import Versions

    return Versions(__version__, cdk8s_version())
