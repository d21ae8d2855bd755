"""The results of conformance checks, and the lines about them."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpuc.diagnostics.report.terminal import visible

NOTICED_SECONDS = 5
"""Times of checks from this number of seconds on are printed."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a comparison of gpuc with another program."""

    name: str
    """A sentence that states what was compared."""
    problem: str = ""
    """The differences; empty if the check passed."""
    note: str = ""
    """Further information for the log, such as the number of objects."""


def print_progress(line: str) -> None:
    """Prints what a long check does now."""
    print(f"    {line}", file=sys.stderr, flush=True)


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], rule: str = "---") -> list[str]:
    """Returns the lines of a Markdown table. rule is the alignment of the last column, for example `---:` for right."""
    cells = [[visible(cell.replace("\n", " ")).replace("|", "\\|") for cell in row] for row in rows]
    lines = [headings, [*("---" for _ in headings[1:]), rule], *cells]
    return [f"| {' | '.join(row)} |" for row in lines]


def report(checks: Iterable[CheckResult], subject: Callable[[Sequence[CheckResult]], str] = lambda _: "") -> int:
    """Prints each result as soon as it is known, then the numbers; returns 1 if a check failed.

    Args:
        subject: returns what the checks compared, as the beginning of the last line.
    """
    results, reported_s = [], time.monotonic()
    for check in checks:
        results.append(check)
        now_s = time.monotonic()
        note = f" ({check.note})" if check.note else ""
        taken = f" [{now_s - reported_s:.0f} s]" if now_s - reported_s >= NOTICED_SECONDS else ""
        reported_s = now_s
        print(f"{'FAILED' if check.problem else 'passed'}  {check.name}{note}{taken}", flush=True)
        if check.problem:
            print("    " + check.problem.replace("\n", "\n    "), flush=True)
    failed = sum(bool(check.problem) for check in results)
    print(f"{subject(results)}{len(results) - failed} checks passed, {failed} failed", flush=True)
    return int(failed > 0)
