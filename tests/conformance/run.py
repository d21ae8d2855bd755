"""The conformance lane: real programs check what gpuc writes. `make conformance` runs it, `make test` never does.

`--long`, which `make conformance-all` gives, plays random work on more random specs and plants undetected mutations.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from gpuc.pipeline.stages import compiled_spec
from gpuc.rehearse.programs import MissingProgramsError, Programs, find_programs
from tests.conformance import (
    core_kinds,
    differential,
    fault_run,
    gator,
    generated_pods,
    imported_rules,
    undetected_mutations,
)
from tests.conformance.endings import endings
from tests.conformance.outcome import Check
from tests.conformance.rehearsals import rehearse
from tests.conftest import EXAMPLES, ROOT, example

JUDGES = ("gator", "kubeconform")
SPECS = 4
"""Random specs of the short run, beside the cases that once disagreed: some three minutes."""


def main(arguments: Sequence[str]) -> int:
    """Runs every check; 1 where one fails or a program is missing."""
    try:
        programs = find_programs()
        _require_judges(programs)
    except MissingProgramsError as error:
        print(f"make conformance cannot judge anything: {error}", file=sys.stderr)
        return 1
    say = partial(print, flush=True)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for check in _checks(programs, Path(folder), _crds(), "--long" in arguments):
            failed, passed = failed + bool(check.problem), passed + (not check.problem)
            say(f"{'FAILED' if check.problem else 'passed'}  {check.name}" + (f" ({check.note})" if check.note else ""))
            if check.problem:
                say("    " + check.problem.replace("\n", "\n    "))
    say(f"{passed} passed, {failed} failed")
    return int(failed > 0)


def _checks(programs: Programs, folder: Path, crds: Path | None, is_long: bool) -> Iterator[Check]:
    suites = folder / "suites"
    yield from gator.verify(programs.path("gator"), suites, example("prod-use1"))
    yield from _tried("generated pods", lambda: generated_pods.checks(programs.path("gator"), folder / "pods"))
    for name in EXAMPLES:
        yield from gator.judge(programs.path("gator"), folder, example(name))
    if lacking := core_kinds.missing():
        yield Check("kubeconform", lacking)
    else:
        for name in EXAMPLES:
            spec = compiled_spec(ROOT, f"specs/{name}.yaml")
            yield from core_kinds.judge(programs.path("kubeconform"), folder / "schemas", spec)
    imported = folder / "imported"
    yield from _tried("rules of imported kinds", lambda: imported_rules.checks(programs, crds, imported))
    for name in EXAMPLES:
        yield from rehearse(name, crds, folder)
    yield from _tried("rehearsals ended in the middle", endings)
    specs = differential.SPECS if is_long else SPECS
    yield from _tried("random work on random specs", lambda: [differential.run(specs, progress=_said).check()])
    yield from _tried("planted faults", lambda: fault_run.run(progress=_said).checks())
    for name in EXAMPLES if is_long else ():
        yield from _tried("undetected mutations", lambda: [undetected_mutations.run(name, _said).check()])  # noqa: B023


def _tried(name: str, action: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """The checks of a long run; one that failed itself where it did not come to its end."""
    try:
        yield from action()
    except Exception:
        yield Check(name, traceback.format_exc())


def _said(line: str) -> None:
    """Progress of what takes minutes."""
    print(f"    {line}", file=sys.stderr, flush=True)


def _crds() -> Path | None:
    """Upstream's own CustomResourceDefinitions; without them those that the programs bring, which is said aloud."""
    shared = os.environ.get("GPUC_SHARED")
    if shared:
        return Path(shared) / "upstream" / "crds"
    print("GPUC_SHARED is not set: kinds that no program brings get definitions from gpuc's own tables", flush=True)
    return None


def _require_judges(programs: Programs) -> None:
    lacking = [name for name in JUDGES if not os.access(programs.path(name), os.X_OK)]
    if lacking:
        raise MissingProgramsError(f"{', '.join(lacking)} is not in {programs.folder}; `make tools` builds it.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
