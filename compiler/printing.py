"""What one run prints: the sheets of each cluster, and the texts that need not be printed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from compiler.synth import Printer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from compiler.lock import Versions
    from compiler.manifest import Artifact
    from compiler.sheet import Sheet
    from compiler.source import Source
    from compiler.write import Output

Send = Callable[[str, "Sequence[Artifact]", "Source"], None]
"""Takes what was emitted for a cluster, by the cluster's name."""


class Printing:
    """The printer, and what it was given; outputs are asked for in the order in which clusters were sent."""

    def __init__(self, printer: Printer, into: Path, keep: bool) -> None:
        self._printer = printer
        self._into = into
        self._keep = keep
        self._sheets: dict[str, dict[str, Sheet]] = {}
        self._kept: dict[str, dict[str, str]] = {}

    @classmethod
    def start(cls, into: Path, *, keep: bool, at_once: bool) -> Printing:
        """A run whose Node starts at once, or when there is something to print.

        keep takes texts from the files below `into` where the index says that the same data printed them.
        """
        return cls(Printer.start() if at_once else Printer(), into, keep)

    def send(self, name: str, artifacts: Sequence[Artifact], source: Source) -> None:
        """Asks for the texts of a cluster that cannot be kept."""
        from compiler.sheet import sheets

        made = sheets(artifacts, source.file)
        kept = self._unchanged(name, made) if self._keep else {}
        self._sheets[name], self._kept[name] = made, kept
        self._printer.send(sheet for file, sheet in made.items() if file not in kept)

    def output(self, name: str, source: Source) -> Output:
        """All texts of a cluster, and its index."""
        from compiler.lock import render
        from compiler.write import Output

        printed = self._printer.texts() | self._kept[name]
        made = self._sheets[name]
        texts = {file: printed[file] for file in made}
        return Output(name, texts, render(made, texts, _versions(), lambda path: source.locate(path).file))

    def _unchanged(self, name: str, made: dict[str, Sheet]) -> dict[str, str]:
        from compiler.lock import lock_file, parse, unchanged
        from compiler.tree import RefusedError, Tree

        try:
            with Tree(self._into) as tree:
                index = tree.read(lock_file(name))
                return unchanged(made.values(), parse(index, name), _versions(), tree.read) if index else {}
        except (OSError, RefusedError, ValueError):
            return {}  # whatever is wrong there, the writer says it

    def __enter__(self) -> Printing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._printer.abandon()


def _versions() -> Versions:
    from compiler import __version__
    from compiler.catalog import load
    from compiler.lock import Versions
    from compiler.unpack import cdk8s_version

    return Versions(__version__, cdk8s_version(), load().version)
