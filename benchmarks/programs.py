"""The measured programs: gpuc in several situations, a plain cdk8s program, other tools, and a small Python process."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fleets import break_instance, copy_fleet, editing, emptying, multiply
from benchmarks.machine import FLOOR
from benchmarks.objects import Objects, emit_objects, write_objects
from benchmarks.other_tools import other_tools, printed_by
from benchmarks.process import Program, nothing

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
class Comparison:
    """The measured programs, which all print the objects of one cluster."""

    programs: list[Program]
    skipped: list[str]
    """A line for each tool that is not installed."""
    objects: Objects
    printed: Mapping[str, list[Path]]
    """The files and folders to which a program writes the objects, by the name of the program."""


def prepare(repository: Path, cluster: str, work: Path) -> Comparison:
    """Returns the programs, each prepared in a separate folder below `work`."""
    file = f"specs/{cluster}.yaml"
    objects = emit_objects(repository, file)
    write_objects(objects, work / "objects.json")
    others, skipped = other_tools(objects, _create_folder(work / "peers"))
    plain = work / "plain"
    programs = [
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
    return Comparison(programs, skipped, objects, printed)


def _floor(work: Path) -> Program:
    return Program(FLOOR_NAME, f"starts Python and runs `{FLOOR}`", (sys.executable, "-c", FLOOR), work)


def _gpuc(repository: Path, cluster: str, work: Path) -> list[Program]:
    def fleet(name: str) -> Path:
        return copy_fleet(repository, work / name)

    def spec(root: Path) -> Path:
        return root / "specs" / f"{cluster}.yaml"

    unchanged, changing, broken, many = fleet("unchanged"), fleet("changing"), fleet("broken"), fleet("many")
    break_instance(spec(broken))
    multiply(spec(many), CLUSTERS)
    into_cold, into_ten = work / "cold", work / "ten"
    return [
        _command(CHECK, "reads the spec, and emits and verifies the objects", unchanged, "check", cluster),
        _command(FINDING, "stops at a misspelled instance type", broken, "check", cluster, exit_code=1),
        _command(NOTHING_CHANGED, "all output files are up to date", unchanged, "compile", cluster),
        _command(
            EDIT,
            "after an edit of `nodes.max` in one pool",
            changing,
            "compile",
            cluster,
            before=editing(spec(changing)),
        ),
        _into(into_cold, COLD, "writes all files to an empty folder", unchanged, cluster),
        _into(into_ten, TEN, "compiles ten specs in one process, into an empty folder", many),
    ]


def _command(
    name: str, description: str, folder: Path, *words: str, before: Callable[[], None] = nothing, exit_code: int = 0
) -> Program:
    gpuc = str(Path(sys.executable).with_name("gpuc"))
    return Program(name, description, (gpuc, *words), folder, before, exit_code)


def _into(into: Path, name: str, description: str, folder: Path, *clusters: str) -> Program:
    return _command(name, description, folder, "compile", *clusters, "--into", str(into), before=emptying(into))


def _plain(objects: Path, folder: Path) -> Program:
    command = (sys.executable, str(PLAIN_PROGRAM), str(objects), str(folder))
    return Program(
        PLAIN, "prints objects that gpuc has computed", command, _create_folder(folder).parent, emptying(folder)
    )


def _create_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
