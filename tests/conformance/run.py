"""Conformance tests: compare gpuc with real programs. `make conformance` runs them; `make test` does not.

pytest would start a control plane for each worker process, and `make test` works without the programs of `make tools`.

`--long`, which `make conformance-all` uses, tests more random specs and applies the undetected mutations.
"""

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.programs import MissingProgramsError, Programs, find_programs
from tests.alerts import promtool
from tests.conformance import (
    alert_rules,
    compared_pods,
    compared_workloads,
    core_kinds,
    differential,
    gator,
    generated_pods,
    imported_rules,
    late_pods,
    observed,
    planted_mistakes,
    readmes,
    refused_workloads,
    transitions,
    undetected_mutations,
)
from tests.conformance.check_result import CheckResult, print_progress, report
from tests.conformance.interrupted_rehearsals import interruptions
from tests.conformance.mistakes import MISTAKES, QUICK
from tests.conformance.rehearsals import rehearse
from tests.conformance.shared_plane import upstream_crds
from tests.conftest import EXAMPLES, HUB_CLUSTERS, ROOT, example
from tests.policies.generated import COUNT

REQUIRED_PROGRAMS = ("gator", "kubeconform")
SPECS = 2
"""Number of random specs without --long, in addition to the kept cases."""
EVERY_CASE: tuple[str, ...] = ()
NODES_AND_QUEUES = ("smallest/*", "full node/*", "efa/*", "gangs/*", "topology/*")
REHEARSED = {"prod-use1": EVERY_CASE, "train-usw2": NODES_AND_QUEUES, "lab-dc1": EVERY_CASE}
"""The example clusters that are rehearsed without --long, with the patterns of their test cases: the policies and the
boundaries of train-usw2 are those of prod-use1. Workloads of infer-euw1 are compared, and its README."""
ALSO_REHEARSED = ("infer-euw1", *HUB_CLUSTERS, "custom-euc1")


def main(arguments: Sequence[str]) -> int:
    """Runs all checks; returns 1 if a check fails or a program is missing."""
    try:
        programs = find_programs()
        _require_programs(programs)
    except MissingProgramsError as error:
        print(f"make conformance cannot start: {error}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        return report(_checks(programs, Path(folder), _crds(), "--long" in arguments))


def _checks(programs: Programs, folder: Path, crds: Path | None, is_long: bool) -> Iterator[CheckResult]:
    suites = folder / "suites"
    yield from gator.verify_examples(programs.path("gator"), suites, example("prod-use1"))
    yield from _guarded(
        "the comparison of gator with cel-expr-python",
        lambda: generated_pods.checks(programs.path("gator"), folder / "pods", COUNT if is_long else COUNT // 2),
    )
    for name in EXAMPLES:
        yield from gator.review_cluster(programs.path("gator"), folder, example(name))
    if problem := core_kinds.missing():
        yield CheckResult("kubeconform can validate the built-in kinds", problem)
    else:
        for name in EXAMPLES:
            spec = compiled_spec(ROOT, f"specs/{name}.yaml")
            yield from core_kinds.validate(programs.path("kubeconform"), folder / "schemas", spec)
    yield from _alerts(folder / "alerts")
    yield from () if is_long else _observed()
    imported, rule_objects = folder / "imported", imported_rules.LONG_COUNT if is_long else imported_rules.COUNT
    yield from _guarded(
        "the comparison of lint with the API server",
        lambda: imported_rules.checks(programs, crds, imported, rule_objects),
    )
    yield from _guarded(
        "the comparison of validation with the API server", lambda: refused_workloads.checks(programs, crds)
    )
    yield from _guarded("the comparison of random pods with the API server", lambda: [compared_pods.check()])
    yield from _guarded("the test of the READMEs with kubectl", lambda: readmes.checks(programs, crds))
    rehearsed = dict.fromkeys((*REHEARSED, *ALSO_REHEARSED), EVERY_CASE) if is_long else REHEARSED
    for name, patterns in rehearsed.items():
        yield from rehearse(name, crds, folder, patterns)
    yield from _guarded("the interruption of rehearsals", lambda: interruptions(is_long=is_long))
    specs = differential.SPECS if is_long else SPECS
    yield from _guarded(
        "the comparison of random gangs", lambda: [differential.run(specs, progress=print_progress).check()]
    )
    mistakes = MISTAKES if is_long else QUICK
    yield from _guarded(
        "the rehearsal of planted mistakes", lambda: planted_mistakes.run(mistakes, print_progress).checks()
    )
    if not is_long:
        yield from _guarded(
            "the comparison of gpuc trace with random workloads", lambda: [compared_workloads.check(print_progress)]
        )
        yield from _guarded("the comparison of predicted impacts", lambda: [transitions.check(print_progress)])
    yield from _guarded("the test of late pods", lambda: late_pods.checks(print_progress))
    for name in EXAMPLES if is_long else ():
        yield from _guarded(
            f"the rehearsal of undetected mutations of {name}",
            lambda: [undetected_mutations.run(name, print_progress).check()],  # noqa: B023
        )


def _alerts(folder: Path) -> Iterator[CheckResult]:
    """The results of promtool; none if promtool is missing, and a message reports that."""
    program = promtool.find_promtool()
    if program is None:
        print(f"the alerts are not tested: {promtool.MISSING}", flush=True)
        return
    yield from _guarded("the test of the alerts", lambda: alert_rules.checks(program, folder))


def _observed() -> Iterator[CheckResult]:
    """The results with Prometheus and Alertmanager; none if a program is missing, and a message reports that."""
    if problem := observed.missing():
        print(f"the dashboards and notifications are not tested: {problem}", flush=True)
        return
    yield from _guarded("the test of the dashboards and notifications", observed.checks)


def _guarded(name: str, action: Callable[[], Iterable[CheckResult]]) -> Iterator[CheckResult]:
    """The results of checks; if they raise an exception, a failed result with the traceback."""
    try:
        yield from action()
    except Exception:
        yield CheckResult(f"{name} runs to its end", traceback.format_exc())


def _crds() -> Path | None:
    """The folder of upstream's CRDs; without the reference data None, and a message reports that."""
    if (found := upstream_crds()) is None:
        print("GPUC_SHARED is not set: CRDs that the programs do not bring are made from gpuc's schemas", flush=True)
    return found


def _require_programs(programs: Programs) -> None:
    missing = [name for name in REQUIRED_PROGRAMS if not os.access(programs.path(name), os.X_OK)]
    if missing:
        raise MissingProgramsError(f"{', '.join(missing)} not found in {programs.folder}; run `gpuc tools`.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
