"""Compares predictions of `gpuc trace` with decisions of Kueue, the scheduler and Karpenter on random specs and gangs.

`python -m tests.conformance.differential --specs 20 --pods 10 --seed 1` tests 20 specs with 10 gangs for each spec.
Kueue decides about the gangs one after another, and admitted gangs hold their quota. Some gangs are then scheduled
alone in their pool, so that the scheduler and Karpenter decide about them too.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from gpuc.model import ClusterQueue
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.outcome import Outcome, Request
from tests.conformance.check_result import CheckResult
from tests.conformance.compared_gangs import ComparedGang, compare_admission, compare_scheduling
from tests.conformance.random_requests import requests
from tests.conformance.shared_plane import SharedControlPlane, Tree, compiled, shared_control_plane
from tests.pipeline.specs import specs

CASES = Path(__file__).parent / "cases"
SPECS, GANGS, SEED = 20, 12, 1
DRAWS = 4


@dataclass(frozen=True)
class Case:
    """A spec and gangs for it."""

    name: str
    tree: Tree
    work: tuple[tuple[str, Request], ...]
    """ClusterQueues and gangs, in the order in which they are submitted."""

    def text(self) -> str:
        """The JSON text of a file in cases/."""
        work = [{"queue": queue, **asdict(request)} for queue, request in self.work]
        return json.dumps({"tree": self.tree, "work": work}, indent=1) + "\n"


@dataclass
class Result:
    """The result of a run."""

    specs: int = 0
    queued: int = 0
    """Number of gangs that Kueue decided about."""
    pods: int = 0
    """Number of pods in these gangs."""
    scheduled: int = 0
    """Number of gangs that the scheduler and Karpenter decided about."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Number of gangs by the expected verdict and the component that decides."""
    disagreements: list[str] = field(default_factory=list)
    seconds: float = 0

    @property
    def compared(self) -> int:
        """Number of compared decisions."""
        return self.queued + self.scheduled

    def summary(self) -> str:
        """The result in one line."""
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self.verdicts.items()))
        agreed = self.compared - len(self.disagreements)
        return (
            f"{self.specs} specs, {self.queued} gangs with {self.pods} pods, {self.scheduled} gangs run on nodes; "
            f"{agreed} of {self.compared} decisions as expected ({kinds}), in {self.seconds:.0f} s"
        )

    def check(self) -> CheckResult:
        """The result for `make conformance`."""
        name = "Kueue, the scheduler and Karpenter decide about random gangs as gpuc expects"
        return CheckResult(name, "\n".join(self.disagreements), self.summary())


def random_cases(count: int, gangs: int, start: int) -> list[Case]:
    """Random specs with random gangs. The same seed gives the same cases."""
    return [_random_case(gangs, start * 10_000 + number) for number in range(count)]


def _random_case(gangs: int, start: int) -> Case:
    """The last of several examples, because Hypothesis starts with the smallest example and variants of it."""
    cases: list[Case] = []

    @seed(start)
    @settings(
        max_examples=DRAWS, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        tree = data.draw(specs())
        tree["spec"]["policies"] = {"default": "dryrun"}  # random gangs violate policies, which other suites test
        tree["spec"]["kueue"] = {"frameworks": ["batch/job"]}  # with other frameworks, a rule demands a policy
        cluster = compiled(tree).cluster
        work = [data.draw(requests(cluster)) for _ in range(gangs)]
        cases.append(Case(str(start), tree, tuple((queue.name, request) for queue, request in work)))

    draw()
    return cases[-1]


def kept_cases(folder: Path = CASES) -> list[Case]:
    """Cases that failed in the past and are kept as regression tests."""
    return [_read(file) for file in sorted(folder.glob("*.json"))]


def _read(file: Path) -> Case:
    kept = json.loads(file.read_text(encoding="utf-8"))
    work = tuple((gang.pop("queue"), Request(**gang)) for gang in kept["work"])
    return Case(file.stem, kept["tree"], work)


def run(
    specs: int = SPECS, pods: int = GANGS, seed: int = SEED, progress: Callable[[str], None] = lambda line: None
) -> Result:
    """Runs the kept cases, then random cases; pods is the number of gangs for each spec."""
    return run_cases([*kept_cases(), *random_cases(specs, pods, seed)], progress)


def run_cases(cases: Sequence[Case], progress: Callable[[str], None]) -> Result:
    """Runs cases. Cases with the same configuration of Kueue share a control plane, because Kueue starts slowly."""
    started = time.monotonic()
    result = Result()
    for _, group in groupby(sorted(cases, key=_shares_fairly), key=_shares_fairly):
        similar = list(group)
        with shared_control_plane(compiled(similar[0].tree), progress) as plane:
            for case in similar:
                known = len(result.disagreements)
                _compare(plane, case, result)
                result.seconds = time.monotonic() - started
                progress("\n".join((*result.disagreements[known:], f"{case.name}: {result.summary()}")))
            plane.plane.require_alive()
    return result


def _shares_fairly(case: Case) -> bool:
    spec: Any = case.tree["spec"]
    return bool(spec["queueing"]["fairSharing"])


def _compare(plane: SharedControlPlane, case: Case, result: Result) -> None:
    spec = compiled(case.tree)
    rehearsal = plane.rehearse(spec)
    work = _resolved(spec, case.work)
    queued = compare_admission(rehearsal, work)
    scheduled = compare_scheduling(rehearsal, work)
    result.specs += 1
    result.queued += len(queued)
    result.pods += sum(gang.request.pods for gang in queued)
    result.scheduled += len(scheduled)
    for gang in (*queued, *scheduled):
        kind = " ".join(filter(None, (gang.expected.verdict, gang.expected.by and f"by {gang.expected.by}")))
        result.verdicts[kind] = result.verdicts.get(kind, 0) + 1
    result.disagreements += [_described(case, gang) for gang in (*queued, *scheduled) if not gang.agrees]


def _resolved(spec: CompiledSpec, work: Iterable[tuple[str, Request]]) -> list[tuple[ClusterQueue, Request]]:
    queues = {part.name: part for queue in spec.cluster.queues for part in queue.cluster_queues}
    return [(queues[name], request) for name, request in work]


def _described(case: Case, gang: ComparedGang) -> str:
    spec: Any = case.tree["spec"]
    return "\n  ".join((
        f"case {case.name}, queue {gang.queue}: {gang.request}",
        f"gangs that held quota: {gang.earlier}", f"pools: {json.dumps(spec['pools'])}",
        f"expected: {_line(gang.expected)}", f"actual:   {_line(gang.actual)}",
    ))  # fmt: skip


def _line(outcome: Outcome) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(outcome).items() if value)


def main() -> int:
    """Runs the comparison with options of the command line; returns 1 if a decision differs."""
    parser = argparse.ArgumentParser(prog="tests.conformance.differential")
    parser.add_argument("--specs", type=int, default=SPECS)
    parser.add_argument("--pods", type=int, default=GANGS, help="number of gangs for each spec")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="write every random case to this folder, in the format of cases/")
    parser.add_argument("--cases", type=Path, help="run only the cases of this folder")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cases = kept_cases(arguments.cases or CASES)
    if not arguments.cases:
        drawn = random_cases(arguments.specs, arguments.pods, arguments.seed)
        for case in drawn if arguments.keep else ():
            (arguments.keep / f"{case.name}.json").write_text(case.text(), encoding="utf-8")
        cases += drawn
    result = run_cases(cases, lambda line: print(line, flush=True))
    print(result.summary())
    return 1 if result.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
