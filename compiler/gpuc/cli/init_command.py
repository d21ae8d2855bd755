"""`gpuc init`: writes the files of a new fleet, and prints what the user has to do next."""

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from gpuc.cli.init import MINIMAL, TENANTS, Written, layer_of, substrate_facts, write_fleet
from gpuc.cli.init_settings import EXAMPLE_REPO, Settings, complete
from gpuc.cli.requirement import path_of, rehearsal_requirement
from gpuc.diagnostics.report.console import write_stdout
from gpuc.diagnostics.report.terminal import is_terminal
from gpuc.diagnostics.usage import UsageError
from gpuc.documents.fleet_files import top_of_repository


def run_init(folder: str, minimal: bool = False, **given: str) -> None:
    """Writes the files of a new fleet, and prints the files and what the user has to do next.

    Args:
        minimal: whether the spec has one node pool, without tenants, queues and policies.
        given: the settings from the options of the command, by the name of the field in `Settings`.

    Raises:
        UsageError: for wrong or missing settings, and when a file cannot be written.
    """
    directory = Path(folder)
    ask = _ask if is_terminal(sys.stdin) else None
    settings = complete(given, ask, needs_requirement=not (directory / "requirements.txt").exists())
    written = write_fleet(directory, settings, MINIMAL if minimal else TENANTS)
    steps = (f"  {step}" for step in _steps(directory, settings, written, is_minimal=minimal))
    write_stdout("\n".join([*_files(directory, written), "next:", *steps]) + "\n")


def _ask(prompt: str) -> str:
    """Asks a question on the terminal.

    Raises:
        UsageError: when the user closes the input.
    """
    try:
        return input(prompt)
    except EOFError:
        raise UsageError("the questions were not answered; no file was written") from None


def _files(directory: Path, written: Written) -> Iterator[str]:
    yield f"{len(written.created)} files were written to {directory}:"
    yield from (f"  {file}" for file in written.created)
    if not written.kept:
        return
    yield f"{len(written.kept)} files exist and were not changed; `gpuc init NEW_FOLDER` shows what gpuc would write:"
    for file, lines in written.kept.items():
        yield f"  {file}" + "".join(f"\n    add the line: {line}" for line in lines)


def _steps(directory: Path, settings: Settings, written: Written, *, is_minimal: bool) -> Iterator[str]:
    """Yields the steps from the files to the first sync."""
    spec = f"specs/{settings.name}.yaml"
    if directory != Path():
        yield f"cd {shlex.quote(str(directory))}"
    top = top_of_repository(directory.resolve())
    if top is None:
        yield "git init --initial-branch main"
    elif top != directory.resolve():
        below = directory.resolve().relative_to(top)
        yield f"move .github to {top}, where GitHub reads workflows, and set FOLDER in workflows/gpuc.yaml to {below}"
    rehearsal = rehearsal_requirement(settings.requirement)
    for wheel in filter(None, map(path_of, (settings.requirement, rehearsal))):
        if not (directory / wheel).is_file():
            yield f"copy the wheel to {wheel}, relative to this folder: pip in the CI workflow reads it from there"
    if "requirements.txt" in written.kept:
        yield "check that requirements.txt installs gpuc and gpuc-rehearsal: the CI workflow installs only this file"
    elif "#" in settings.requirement and not rehearsal:
        yield "add the address of gpuc-rehearsal with its hash to requirements.txt: the CI workflow runs gpuc rehearse"
    yield f"edit {spec}: {substrate_facts(settings.substrate)['edit']} of your cluster, and pools"
    if settings.repo == EXAMPLE_REPO:
        file = spec if is_minimal else layer_of(settings)
        yield f"edit {file}: delivery.repo is the URL of your Git repository"
    yield "gpuc compile"
    yield f'git add --all && git commit --message "Add the cluster {settings.name}"'
    yield f"read clusters/{settings.name}/README.md: the resources that the cluster requires, and the first sync"
