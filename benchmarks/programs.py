"""The measured programs: gpuc in several situations, a plain cdk8s program, other tools, and a small Python process."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fleets import break_instance, cloning, copy_fleet, editing, emptying, enlarge, multiply
from benchmarks.machine import FLOOR
from benchmarks.objects import Objects, emit_objects, write_objects
from benchmarks.other_tools import other_tools, printed_by
from benchmarks.process import Program, nothing

CHECK = "gpuc check"
FINDING = "gpuc check, one finding"
NOTHING_CHANGED = "gpuc compile, nothing changed"
CLONE = "gpuc compile, nothing changed, after a clone"
OTHER_EDIT = "gpuc compile, nothing changed, after an edit of another cluster"
EDIT = "gpuc compile, one edit"
COLD = "gpuc compile, cold"
TEN = "gpuc compile, ten clusters"
SIZES = ((15, 25, 12), (30, 50, 25), (60, 100, 50))
"""Numbers of pools, tenants and queues of a large cluster."""
LARGE = "gpuc compile, cold, 60 pools"
PLAN = "gpuc plan, one edit"
PLAIN = "plain cdk8s in Python"
FLOOR_NAME = "python floor"
CLUSTERS = 10
PLAIN_PROGRAM = Path(__file__).parent / "plain_cdk8s" / "main.py"


def large(pools: int) -> str:
    """Returns the name of the check of a large cluster."""
    return f"gpuc check, {pools} pools"


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
        floor(work),
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


def floor(work: Path) -> Program:
    """Returns the program that starts Python and imports the libraries that gpuc needs."""
    return Program(FLOOR_NAME, f"starts Python and runs `{FLOOR}`", (sys.executable, "-c", FLOOR), work)


def _gpuc(repository: Path, cluster: str, work: Path) -> list[Program]:
    broken, many = copy_fleet(repository, work / "broken"), copy_fleet(repository, work / "many")
    break_instance(_spec(broken, cluster))
    multiply(_spec(many, cluster), CLUSTERS)
    checked, unchanged = copy_fleet(repository, work / "checked"), copy_fleet(repository, work / "unchanged")
    edit = editing(_spec(checked, cluster))
    return [
        command_of(CHECK, "reads the spec, and emits and verifies the objects", checked, "check", cluster, before=edit),
        command_of(FINDING, "stops at a misspelled instance type", broken, "check", cluster, exit_code=1),
        *_compiles_after(repository, cluster, work),
        _into(work / "cold", COLD, "writes all files to an empty folder", unchanged, cluster),
        _into(work / "ten", TEN, "compiles ten specs in one process, into an empty folder", many),
        *_large(repository, cluster, work),
        _plan(repository, cluster, work / "planned"),
    ]


def _compiles_after(repository: Path, cluster: str, work: Path) -> list[Program]:
    """Returns the compiles of a spec after no edit, a clone, and an edit of the spec or of another one."""
    unchanged, original, one, changing = (
        copy_fleet(repository, work / name, with_output=True) for name in ("same", "original", "one", "changing")
    )
    clone = work / "clone"
    another = next(spec for spec in sorted((one / "specs").glob("*.yaml")) if spec.stem != cluster)
    compile_of = ("compile", cluster)
    return [
        command_of(NOTHING_CHANGED, "all output files are up to date", unchanged, *compile_of),
        command_of(CLONE, "in a new clone, with the old cache", clone, *compile_of, before=cloning(original, clone)),
        command_of(OTHER_EDIT, "after an edit of another spec", one, *compile_of, before=editing(another)),
        command_of(
            EDIT,
            "after an edit of `nodes.max` in one pool",
            changing,
            *compile_of,
            before=editing(_spec(changing, cluster)),
        ),
    ]


def _large(repository: Path, cluster: str, work: Path) -> list[Program]:
    """Returns a check of each size of a large cluster, and a compile of the largest."""
    programs = []
    for pools, tenants, queues in SIZES:
        fleet = copy_fleet(repository, work / f"large-{pools}")
        spec = _spec(fleet, cluster)
        enlarge(spec, pools, tenants, queues)
        elements = f"{pools} pools, {tenants} tenants and {queues} queues"
        programs.append(
            command_of(large(pools), f"a cluster with {elements}", fleet, "check", cluster, before=editing(spec))
        )
    return [*programs, _into(work / "large", LARGE, f"a cluster with {elements}, into an empty folder", fleet, cluster)]


def _plan(repository: Path, cluster: str, fleet: Path) -> Program:
    """Returns the plan of a changed cluster, compared with a commit."""
    copy_fleet(repository, fleet, with_output=True)
    user = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")
    for words in (("init", "--quiet"), ("add", "--all"), (*user, "commit", "--quiet", "--message", "before")):
        subprocess.run(("git", *words), cwd=fleet, check=True)
    words = ("plan", cluster, "--against", "HEAD")
    return command_of(PLAN, "compares the cluster with a commit", fleet, *words, before=editing(_spec(fleet, cluster)))


def _spec(fleet: Path, cluster: str) -> Path:
    return fleet / "specs" / f"{cluster}.yaml"


def command_of(
    name: str, description: str, folder: Path, *words: str, before: Callable[[], None] = nothing, exit_code: int = 0
) -> Program:
    gpuc = str(Path(sys.executable).with_name("gpuc"))
    return Program(name, description, (gpuc, *words), folder, before, exit_code)


def _into(into: Path, name: str, description: str, folder: Path, *clusters: str) -> Program:
    return command_of(name, description, folder, "compile", *clusters, "--into", str(into), before=emptying(into))


def _plain(objects: Path, folder: Path) -> Program:
    command = (sys.executable, str(PLAIN_PROGRAM), str(objects), str(folder))
    return Program(
        PLAIN, "prints objects that gpuc has computed", command, _create_folder(folder).parent, emptying(folder)
    )


def _create_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
