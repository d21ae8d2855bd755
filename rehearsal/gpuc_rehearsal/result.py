"""The result of the rehearsal of one spec, and its report. Test cases and problems have a line of the spec."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from gpuc.diagnostics.finding import Mark
from gpuc.diagnostics.report.document import Block, Item, Span, Table, picked, position, section
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.apply import ApplyResult
from gpuc_rehearsal.layout import Report
from gpuc_rehearsal.outcome import Outcome
from gpuc_rehearsal.suites import CaseResult

LISTED = 40
"""Maximum number of test cases that the text report lists.

With more test cases, the report has counts by spec line and suite.
"""
_LONGEST_CELL = 120


class Problem(NamedTuple):
    """An object that the API server refused or changed, or that is not healthy."""

    kind: str
    """refused by the API server; unhealthy after the timeout; unstable: changed by a second apply; differs: stored with
    other values."""
    mark: Mark
    object: str
    """Kind, namespace and name."""
    message: str


class LocatedResult(NamedTuple):
    """The result of a test case, and the line of the spec that contains the tested field."""

    mark: Mark
    result: CaseResult


class Result(Struct, frozen=True):
    """The result of the rehearsal of one spec: test cases, problems with objects, durations and memory."""

    cluster: str
    file: str
    """Path of the spec."""
    objects: int
    """Number of objects that the API server accepted."""
    problems: tuple[Problem, ...]
    cases: tuple[LocatedResult, ...]
    substitutions: tuple[str, ...]
    """Sentences about simulated and replaced parts of the cluster."""
    not_tested: tuple[str, ...]
    """Sentences about the behaviour that no test case checks."""
    seconds: Mapping[str, float]
    """Duration by step, in the order of the run."""
    memory_mib: int
    """Resident memory of all programs at the end of the run."""
    kubeconfig: Path

    @property
    def failed(self) -> tuple[LocatedResult, ...]:
        """Test cases whose actual outcome differs from the expected outcome."""
        return tuple(located for located in self.cases if not located.result.passed)

    @property
    def is_good(self) -> bool:
        """Whether no object has a problem and every test case has the expected outcome."""
        return not self.problems and not self.failed

    @property
    def refusals(self) -> int:
        """The number of test cases that expect a refusal."""
        return sum(result.case.is_refusal for _, result in self.cases)

    @property
    def distinct(self) -> int:
        """The number of different test cases: two test cases differ if their suite, queue, pool or request differs."""
        cases = (result.case for _, result in self.cases)
        return len({(case.suite, case.queue, case.pool, case.request) for case in cases})


def find_problems(spec: CompiledSpec, applied: ApplyResult) -> tuple[Problem, ...]:
    """Returns the problems of applied objects, sorted by the lines in the spec that caused these objects."""
    lists = applied.refusals, applied.unhealthy, applied.unstable, applied.differences
    problems = (
        Problem(kind, spec.locate(row.manifest), str(row.manifest), row.message)
        for kind, rows in zip(("refused", "unhealthy", "unstable", "differs"), lists, strict=True)
        for row in rows
    )
    return tuple(sorted(problems, key=lambda problem: (problem.mark.file, problem.mark.line, problem.object)))


def locate_results(spec: CompiledSpec, results: Iterable[CaseResult]) -> tuple[LocatedResult, ...]:
    """Returns the results of test cases with the tested line of the spec, sorted by this line."""
    located = (LocatedResult(spec.source.locate(result.case.origin), result) for result in results)
    return tuple(sorted(located, key=_line_and_suite))


def outcome_text(outcome: Outcome) -> str:
    """Returns an outcome as text, for example "refused by Kueue: insufficient quota"."""
    verdict: str = outcome.verdict
    if outcome.by and outcome.verdict in ("refused", "pending"):
        verdict += f" by {outcome.by}"
    details = [
        f"flavor {outcome.flavor}" if outcome.flavor else "",
        f"pool {outcome.pool}" if outcome.pool else "",
        f"{outcome.nodes} nodes" if outcome.nodes is not None else "",
        "/".join(outcome.instance_types),
        ", ".join(f"borrows {amount} {name}" for name, amount in outcome.borrowed or ()),
    ]
    text = ", ".join([verdict, *(detail for detail in details if detail)])
    message = " ".join(outcome.message.split())
    return f"{text}: {message}" if message else text


def summary(result: Result) -> str:
    """Returns a line with the numbers of test cases, unexpected outcomes, objects and problems, and the time."""
    parts = [
        f"{len(result.cases)} test cases ({result.distinct} distinct, {result.refusals} refusals)",
        f"{len(result.cases) - len(result.failed)} as expected, {len(result.failed)} different",
        f"{result.objects} objects applied, {len(result.problems)} with problems",
        f"{sum(result.seconds.values()):.1f} s, {result.memory_mib} MiB",
    ]
    return f"{result.cluster}: {'; '.join(parts)}"


def _blocks(result: Result) -> Iterator[Block]:
    yield from ("", Table(list(_rows(result)), longest=_LONGEST_CELL))
    problems = [Item(row.object, Span(row.kind, "1;31"), row.mark, (row.message,)) for row in result.problems]
    yield from section("Problems", problems)
    yield from section("Different", [_different(located) for located in result.failed])
    repeated = [located for located in result.cases if located.result.passed and located.result.beside]
    yield from section("As expected only alone", [_different(located) for located in repeated])
    yield from section("Simulated or replaced", result.substitutions)
    yield from section("Not tested", result.not_tested)


def _different(located: LocatedResult) -> Item:
    case, actual, beside = located.result.case, located.result.actual, located.result.beside
    outcomes = {"expected": case.expected, "actual": actual} | ({"together": beside} if beside else {})
    notes = tuple(f"{name:<9} {outcome_text(outcome)}" for name, outcome in outcomes.items())
    return Item(f"{case.suite}/{case.name}", place=located.mark, notes=notes)


def _rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Yields the heading, then a row for each test case.

    With more than LISTED test cases, yields a row for each pair of a spec line and a suite.
    """
    if len(result.cases) <= LISTED:
        yield "spec", "test case", "outcome", "s"
        for mark, row in result.cases:
            case, actual = row.case, outcome_text(row.actual)
            yield f"{mark.file}:{mark.line}", f"{case.suite}/{case.name}", actual, f"{row.seconds:.1f}"
        return
    yield "spec", "suite", "cases", "refusals", "as expected", "s"
    for (file, line, suite), group in groupby(result.cases, _line_and_suite):
        rows = [row for _, row in group]
        passed, refusals = sum(row.passed for row in rows), sum(row.case.is_refusal for row in rows)
        longest = f"{max(row.seconds for row in rows):.1f}"
        yield f"{file}:{line}", suite, str(len(rows)), str(refusals), str(passed), longest


def _line_and_suite(located: LocatedResult) -> tuple[str, int, str]:
    return located.mark.file, located.mark.line, located.result.case.suite


def _data(result: Result) -> dict[str, Any]:
    counts = {"cases": len(result.cases), **picked(result, "distinct refusals")}
    counts |= {"different": len(result.failed), "problems": len(result.problems)}
    return {
        **picked(result, "cluster file objects seconds memory_mib substitutions not_tested"),
        "good": result.is_good,
        "counts": counts,
        "problems": [picked(problem, "kind object message") | position(problem.mark) for problem in result.problems],
        "cases": [_case(located) for located in result.cases],
    }


def _case(located: LocatedResult) -> dict[str, Any]:
    result = located.result
    return {
        **picked(result.case, "suite name queue pool request"),
        **position(located.mark),
        **picked(result, "passed seconds"),
        "path": result.case.origin,
        "expected": asdict(result.case.expected),
        "actual": asdict(result.actual),
        "beside": asdict(result.beside) if result.beside else None,
    }


_TITLE = "Rehearsal of {0.cluster} ({0.file})"
REPORT = Report("clusters", 2, _TITLE.format, _blocks, summary, _data, lambda result: result.is_good)
