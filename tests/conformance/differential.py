"""Random specs and random work: what the model expects against what Kueue, the scheduler and Karpenter did.

`python -m tests.conformance.differential --specs 20 --pods 10 --seed 1`: so many specs, and so many gangs for each.
Kueue decides about every gang, one after the other while earlier ones hold their quota; some of them then run alone in
their pool, to the end, so that the scheduler and Karpenter decide too.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from gpuc.model import ClusterQueue
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.trace import trace_workload
from tests.conformance.judged_work import Judged, judge_admission, judge_nodes
from tests.conformance.lane import Lane, Tree, compiled, lane
from tests.conformance.outcome import Check
from tests.conformance.random_requests import requests
from tests.pipeline.specs import specs
from tests.trace.evaluator import contradiction, site, work_for

CASES = Path(__file__).parent / "cases"
SPECS, GANGS, SEED = 20, 12, 1
DRAWS = 4


@dataclass(frozen=True)
class Case:
    """A spec and work for it."""

    name: str
    tree: Tree
    work: tuple[tuple[str, Request], ...]
    """ClusterQueue and gang, in the order in which they are submitted."""

    def text(self) -> str:
        """As cases/ keeps it."""
        work = [{"queue": queue, **asdict(request)} for queue, request in self.work]
        return json.dumps({"tree": self.tree, "work": work}, indent=1) + "\n"


@dataclass
class Result:
    """What a run showed."""

    specs: int = 0
    asked: int = 0
    """Gangs that Kueue decided about."""
    pods: int = 0
    """Pods in them."""
    walked: int = 0
    """Gangs that went on to the scheduler and Karpenter."""
    evaluated: int = 0
    """Answers to work that nobody else stood in the way of: the evaluator of objects has to give the same."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Gangs by what was expected: verdict and who refuses."""
    disagreements: list[str] = field(default_factory=list)
    seconds: float = 0

    @property
    def compared(self) -> int:
        """Answers that were compared."""
        return self.asked + self.walked

    def summary(self) -> str:
        """In one line."""
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self.verdicts.items()))
        agreed = self.compared - len(self.disagreements)
        return (
            f"{self.specs} specs, {self.asked} gangs of {self.pods} pods, {self.walked} of them on nodes; "
            f"{agreed} of {self.compared} answers as expected, {self.evaluated} of them the evaluator's too ({kinds}) "
            f"in {self.seconds:.0f} s"
        )

    def check(self) -> Check:
        """For the lane."""
        return Check("random work on random specs", "\n".join(self.disagreements), self.summary())


def random_cases(count: int, gangs: int, start: int) -> list[Case]:
    """Random specs, each with random work; the same for the same seed."""
    return [_random_case(gangs, start * 10_000 + number) for number in range(count)]


def _random_case(gangs: int, start: int) -> Case:
    """Hypothesis begins with the smallest example and goes on with relatives of it: the last of a few is taken."""
    found: list[Case] = []

    @seed(start)
    @settings(
        max_examples=DRAWS, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def draw(data: st.DataObject) -> None:
        tree = data.draw(specs())
        tree["spec"]["policies"] = {"default": "dryrun"}  # random work breaks them; the scenes have their own for that
        cluster = compiled(tree).cluster
        work = [data.draw(requests(cluster)) for _ in range(gangs)]
        found.append(Case(str(start), tree, tuple((queue.name, each) for queue, each in work)))

    draw()
    return found[-1]


def kept_cases(folder: Path = CASES) -> list[Case]:
    """Cases that once disagreed."""
    return [_read(file) for file in sorted(folder.glob("*.json"))]


def _read(file: Path) -> Case:
    kept = json.loads(file.read_text(encoding="utf-8"))
    work = tuple((each.pop("queue"), Request(**each)) for each in kept["work"])
    return Case(file.stem, kept["tree"], work)


def run(
    specs: int = SPECS, pods: int = GANGS, seed: int = SEED, progress: Callable[[str], None] = lambda line: None
) -> Result:
    """Kept cases, then random ones; pods is the number of gangs for each spec."""
    return run_cases([*kept_cases(), *random_cases(specs, pods, seed)], progress)


def run_cases(cases: Sequence[Case], progress: Callable[[str], None]) -> Result:
    """One control plane for all cases of one configuration of Kueue: to start Kueue anew takes longest of all."""
    started = time.monotonic()
    result = Result()
    for _, group in groupby(sorted(cases, key=_shares_fairly), key=_shares_fairly):
        alike = list(group)
        with lane(compiled(alike[0].tree), progress) as kept:
            for case in alike:
                known = len(result.disagreements)
                _one(kept, case, result)
                result.seconds = time.monotonic() - started
                progress("\n".join((*result.disagreements[known:], f"{case.name}: {result.summary()}")))
            kept.plane.require_alive()
    return result


def _shares_fairly(case: Case) -> bool:
    spec: Any = case.tree["spec"]
    return bool(spec["queueing"]["fairSharing"])


def _one(kept: Lane, case: Case, result: Result) -> None:
    spec = compiled(case.tree)
    rehearsal = kept.rehearse(spec)
    work = _resolved(spec, case.work)
    admissions = judge_admission(rehearsal, work)
    walks = judge_nodes(rehearsal, work)
    result.specs += 1
    result.asked += len(admissions)
    result.pods += sum(each.request.pods for each in admissions)
    result.walked += len(walks)
    for each in (*admissions, *walks):
        kind = " ".join(filter(None, (each.expected.verdict, each.expected.by and f"by {each.expected.by}")))
        result.verdicts[kind] = result.verdicts.get(kind, 0) + 1
    result.disagreements += [_told(case, each) for each in (*admissions, *walks) if not each.agrees]
    _evaluate(spec, case, admissions, walks, result)


def _evaluate(
    spec: CompiledSpec, case: Case, admissions: Iterable[Judged], walks: Iterable[Judged], result: Result
) -> None:
    """The evaluator of objects beside the programs, where the cluster was as empty as it takes it to be."""
    known, queues = site(spec), {each.name: each for each in cluster_queues(spec.cluster)}
    alone = [(each, False) for each in admissions if not each.after]
    alone += [
        (each, True)
        for each in walks
        if expect(spec.cluster, queues[each.queue], each.request).flavor == each.expected.flavor
    ]
    for each, on_nodes in alone:
        walked = trace_workload(known, work_for(known, each.queue, each.request), policies=False)
        result.evaluated += 1
        if each.agrees and (told := contradiction(each.seen, walked, on_nodes=on_nodes)):
            result.disagreements.append(f"{_told(case, each)}\n  {told}")


def _resolved(spec: CompiledSpec, work: Iterable[tuple[str, Request]]) -> list[tuple[ClusterQueue, Request]]:
    queues = {part.name: part for queue in spec.cluster.queues for part in queue.cluster_queues}
    return [(queues[name], request) for name, request in work]


def _told(case: Case, each: Judged) -> str:
    spec: Any = case.tree["spec"]
    return "\n  ".join((
        f"case {case.name}, queue {each.queue}: {each.request}",
        f"after {each.after}", f"pools {json.dumps(spec['pools'])}",
        f"expected {_line(each.expected)}", f"seen     {_line(each.seen)}",
    ))  # fmt: skip


def _line(outcome: Outcome) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(outcome).items() if value)


def main() -> int:
    """Runs from the command line; 1 where anything disagrees."""
    parser = argparse.ArgumentParser(prog="tests.conformance.differential")
    parser.add_argument("--specs", type=int, default=SPECS)
    parser.add_argument("--pods", type=int, default=GANGS, help="gangs for each spec")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--keep", type=Path, help="write every random case there, in the form of cases/")
    parser.add_argument("--cases", type=Path, help="play only the cases of this folder")
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
