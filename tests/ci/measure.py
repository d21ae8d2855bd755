"""Measures the jobs of a new fleet's workflow with the wheels and real rehearsals: `python -m tests.ci.measure`.

The first pull request finds an empty cache of programs, so that its job `programs` builds them; the second finds them
there. With --programs DIR, DIR has the programs of `gpuc tools`, and the first pull request finds them too. pip has
the cache of this machine, because the cache of setup-python also survives a job.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuc_rehearsal.tools.selection import REHEARSAL
from tests.ci.fleet_changes import Project, more_nodes, new_fleet, project
from tests.ci.runner import Job, fresh_python, pip_settings
from tests.ci.sources import copied_sources


def wheels(folder: Path) -> list[Path]:
    """Builds the wheels of gpuc and of gpuc-rehearsal from a copy of the sources, in this order."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder / "dist"), "."]
    for source in copied_sources(folder / "source"):
        subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    return sorted((folder / "dist").glob("*.whl"))


def show(title: str, jobs: dict[str, Job], comment: Job | None = None) -> None:
    """Prints a row for each job, with its longest steps."""
    print(f"\n{title}", file=sys.__stdout__)
    for job in [*jobs.values(), *([comment] if comment else [])]:
        steps = [step for step in job.steps if not step.name.startswith("./")]
        longest = sorted(steps, key=lambda step: -step.seconds)[:4]
        named = ", ".join(f"{step.name} {step.seconds:.0f} s" for step in longest if step.seconds >= 1)
        print(
            f"  {job.name:22} {job.result:8} {sum(step.seconds for step in steps) / 60:5.1f} min  {named}",
            file=sys.__stdout__,
            flush=True,
        )


def measure(found: Project) -> None:
    """Runs two pull requests, each with the comment."""
    for number in ("first", "second"):
        pull = found.change(more_nodes, branch=number)
        jobs = found.review(pull)
        show(f"{number} pull request", jobs, found.comment(pull, jobs))


def main() -> int:
    """Builds the wheels and the fleet, and prints the minutes of each job."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=Path, metavar="DIR", help="a folder with the programs")
    parser.add_argument("--logs", type=Path, metavar="FILE", help="the file for the logs of the steps")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary, open(options.logs or os.devnull, "w", encoding="utf-8") as logs:
        folder = Path(temporary)
        built = wheels(folder)
        sys.stdout = logs
        files = {f"wheels/{file.name}": file.read_bytes() for file in built}
        new_fleet(folder / "fleet", f"./wheels/{built[0].name}", files)
        (folder / "project").mkdir()
        with project(folder / "project", folder / "fleet", fresh_python) as found:
            found.machine.environment = pip_settings()
            if options.programs:
                found.machine.caches[f"gpuc-tools-Linux-X64-{REHEARSAL.home().name}"] = options.programs
            measure(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
