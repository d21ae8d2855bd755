"""Coverage-guided fuzzing of what reads untrusted text: `python -m tests.fuzz TARGET SECONDS`.

Targets: `spec` (the reader of specs), `lint` (files of strangers through schemas and judges). Needs atheris
(`pip install gpuc[fuzz]`). Anything but findings is a crash: its input goes to fuzz-crash-*, and the run ends with 77.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-not-found]

ROOT = Path(__file__).parent.parent.parent
LONGEST_BYTES = 4096


def _spec() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["compiler", "ruamel"]):
        from compiler.finding import Stop
        from compiler.source.document import compose
        from compiler.source.encoding import text_of
    place = Path(tempfile.mkdtemp()) / "f.yaml"

    def target(data: bytes) -> None:
        place.write_bytes(data)
        try:
            text, _ = text_of(place, "specs/f.yaml")
            compose.__wrapped__(text, "specs/f.yaml")
        except Stop:
            return

    return target


def _lint() -> Callable[[bytes], None]:
    with atheris.instrument_imports(include=["compiler"]):
        from compiler.lint.objects import Reading
        from compiler.lint.places import Places
        from compiler.verify import judge
        from compiler.verify.schema import schema_flaws
        from compiler.verify.tree import Tree

    def target(data: bytes) -> None:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        reading, places = Reading(), Places()
        places.add("f.yaml", text)
        reading.add("f.yaml", text)
        flaws = schema_flaws(reading.manifests, "1.35", as_written=True)
        for flaw in [*flaws, *judge(Tree(reading.manifests, is_whole=False))]:
            index, *prefix = flaw.manifest.origin
            assert isinstance(index, int)
            places.line(places.mark("f.yaml", index, (*prefix, *flaw.path), on_key=flaw.on_key))

    return target


TARGETS = {"spec": (_spec, "specs/**/*.yaml"), "lint": (_lint, "out/prod-use1/**/*.yaml")}


def main() -> None:
    """Seeds a corpus with our own files and fuzzes."""
    name, seconds = sys.argv[1:3]
    make, seeds = TARGETS[name]
    target = make()
    with tempfile.TemporaryDirectory() as corpus:
        for number, file in enumerate(sorted(ROOT.glob(seeds))):
            (Path(corpus) / str(number)).write_bytes(file.read_bytes()[:LONGEST_BYTES])
        options = [f"-max_total_time={seconds}", f"-max_len={LONGEST_BYTES}", "-timeout=20", "-rss_limit_mb=2048"]
        atheris.Setup([sys.argv[0], *options, "-artifact_prefix=fuzz-", corpus], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
