"""The measured commands: gpuc in several situations, a plain cdk8s program, other tools, and a bare Python process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fleets import break_instance, copy_fleet, edited, emptied, multiply
from benchmarks.machine import FLOOR
from benchmarks.objects import Objects, emit_objects, write_objects
from benchmarks.peers import peers, printed_by
from benchmarks.process import Contestant, nothing

CHECK = "gpuc check"
FINDING = "gpuc check, one finding"
NOTHING_CHANGED = "gpuc compile, nothing changed"
EDIT = "gpuc compile, one edit"
COLD = "gpuc compile, cold"
TEN = "gpuc compile, ten clusters"
PLAIN = "plain cdk8s in Python"
FLOOR_NAME = "python floor"
CLUSTERS = 10
PLAIN_PROGRAM = Path(__file__).parent / "plain_cdk8s" / "main.py"


@dataclass(frozen=True)
class Field:
    """All contestants, for the objects of one cluster."""

    contestants: list[Contestant]
    skipped: list[str]
    """A line for every tool that is not installed."""
    objects: Objects
    printed: Mapping[str, list[Path]]
    """The files and folders that a contestant writes its objects to, by its name."""


def gather(repository: Path, cluster: str, work: Path) -> Field:
    """Prepares every contestant in a separate folder below `work`."""
    file = f"specs/{cluster}.yaml"
    objects = emit_objects(repository, file)
    write_objects(objects, work / "objects.json")
    others, skipped = peers(objects, _made(work / "peers"))
    plain = work / "plain"
    contestants = [
        _floor(work),
        *_gpuc(repository, cluster, work),
        _plain(work / "objects.json", plain),
        *others,
    ]
    printed = {
        COLD: [work / "cold" / file for file in objects.by_file],
        PLAIN: [plain],
        **{other.name: [printed_by(other)] for other in others},
    }
    return Field(contestants, skipped, objects, printed)


def _floor(work: Path) -> Contestant:
    return Contestant(FLOOR_NAME, f"`{FLOOR}`", (sys.executable, "-c", FLOOR), work)


def _gpuc(repository: Path, cluster: str, work: Path) -> list[Contestant]:
    def fleet(name: str) -> Path:
        return copy_fleet(repository, work / name)

    def spec(root: Path) -> Path:
        return root / "specs" / f"{cluster}.yaml"

    unchanged, changing, broken, many = fleet("unchanged"), fleet("changing"), fleet("broken"), fleet("many")
    break_instance(spec(broken))
    multiply(spec(many), CLUSTERS)
    into_cold, into_ten = work / "cold", work / "ten"
    pool = "one pool's `nodes.max` is another"
    return [
        _command(CHECK, "spec to verified objects", unchanged, "check", cluster),
        _command(FINDING, "stops at an instance type that is misspelt", broken, "check", cluster, exit_code=1),
        _command(NOTHING_CHANGED, "all files are what the spec means", unchanged, "compile", cluster),
        _command(EDIT, pool, changing, "compile", cluster, before=edited(spec(changing))),
        _into(into_cold, COLD, "into an empty folder", unchanged, cluster),
        _into(into_ten, TEN, "one process, into an empty folder", many),
    ]


def _command(
    name: str, does: str, folder: Path, *words: str, before: Callable[[], None] = nothing, exit_code: int = 0
) -> Contestant:
    gpuc = str(Path(sys.executable).with_name("gpuc"))
    return Contestant(name, does, (gpuc, *words), folder, before, exit_code)


def _into(into: Path, name: str, does: str, folder: Path, *clusters: str) -> Contestant:
    return _command(name, does, folder, "compile", *clusters, "--into", str(into), before=emptied(into))


def _plain(objects: Path, folder: Path) -> Contestant:
    command = (sys.executable, str(PLAIN_PROGRAM), str(objects), str(folder))
    return Contestant(PLAIN, "prints finished objects", command, _made(folder).parent, emptied(folder))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
