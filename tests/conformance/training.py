"""Runs the emitted training runtimes and templates with the real Trainer, JobSet, KubeRay, Kueue and Karpenter.

`make conformance-all` and `make conformance-training` run this module after `make tools-workloads`. A controller that
is not built does not run, and a line of the output names it. Each step waits for a state of objects, and each answer
of `gpuc trace` is compared with what happened. `python -m tests.conformance.training [CLUSTER...]`.
"""

import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence

from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.apply import apply_objects
from gpuc_rehearsal.context import RehearsalContext, Timeouts
from gpuc_rehearsal.health import place_static_nodes
from gpuc_rehearsal.programs import MissingProgramsError, find_controller, find_programs
from gpuc_rehearsal.substitute import replacement_objects
from tests.conformance.check_result import CheckResult, print_progress, report
from tests.conformance.local_controllers import CONTROLLERS, built_controllers, start_controllers
from tests.conformance.shared_plane import SharedControlPlane, shared_control_plane
from tests.conformance.training_cases import CASES
from tests.conformance.training_plane import SECONDS, TrainingPlane
from tests.conftest import ROOT

CLUSTERS = ("prod-use1", "train-usw2")
MOST_MIB = 3 * 1024
"""The memory that the controllers of workloads may need together."""


def checks(name: str, progress: Callable[[str], None]) -> Iterator[CheckResult]:
    """Starts a control plane with the controllers of an example cluster, and yields the results of its cases."""
    spec, started = compiled_spec(ROOT, f"specs/{name}.yaml", for_rehearsal=True), time.monotonic()
    programs = built_controllers([row for row in (*CONTROLLERS, "kuberay") if row in spec.cluster.components], progress)
    with shared_control_plane(spec, progress, controllers=programs) as plane:
        processes = start_controllers(plane.plane.site, plane.client, programs, spec.cluster.controller_accounts)
        for process in processes:
            process.wait_ready(SECONDS)
        applied = apply_objects(plane.client, spec.synced, replacement_objects(spec.cluster), progress, SECONDS)
        problems = [*map(str, applied.refusals), *map(str, applied.unhealthy)]
        problems += map(str, place_static_nodes(plane.client, spec.cluster, SECONDS).items())
        note = f"{time.monotonic() - started:.0f} s"
        yield CheckResult(f"the real controllers accept all objects of {name}", "\n".join(problems), note)
        context = RehearsalContext(spec, plane.client, Timeouts(*(SECONDS,) * 4))
        subject = TrainingPlane(context, plane.plane.site.folder / "logs" / "kueue.log", name)
        subject.prepare()
        for title, case in CASES[name].items():
            try:
                problem, note = case(subject), subject.note
            except Exception:
                problem, note = "\n".join([traceback.format_exc(), *subject.events()]), ""
            yield CheckResult(title, problem, note)
            subject.clear()
        yield _memory(plane, list(programs))


def _memory(plane: SharedControlPlane, names: list[str]) -> CheckResult:
    plane.plane.require_alive()
    used = {row.name: row.memory_mib() for row in plane.plane.site.processes if row.name in names}
    note = ", ".join(f"{name} {mib} MiB" for name, mib in used.items())
    problem = "" if sum(used.values()) <= MOST_MIB else f"{sum(used.values())} MiB"
    title = f"the controllers of workloads need at most {MOST_MIB} MiB together"
    return CheckResult(title, problem, f"{note}; all programs {plane.plane.memory_mib()} MiB")


def main(arguments: Sequence[str]) -> int:
    """Runs the checks of clusters, by default of all; returns 1 if one fails."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        find_programs()
        for name in ("jobset", "trainer"):
            find_controller(name, "TrainJobs")
    except MissingProgramsError as error:
        print(f"not run: training jobs with the real controllers: {error}")
        return 0
    found = (result for name in arguments or CLUSTERS for result in checks(name, print_progress))
    return report(found, lambda results: f"{', '.join(arguments or CLUSTERS)}: ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
