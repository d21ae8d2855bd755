"""The report of the comparison of `gpuc trace` with real programs."""

import datetime
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tests.conformance.check_result import markdown_table
from tests.conformance.random_workloads import RandomWorkload
from tests.conformance.real_answers import Answer
from tests.tables import table

MAX_WRONG_NO, MAX_NOT_JUDGED = 0.02, 0.05
AGREED, WRONG_YES, WRONG_NO, NOT_JUDGED = "agreed", "wrong yes", "wrong no", "not judged"
CORRECT = "(no mutation)"
MESSAGE_LENGTH = 600
PROBLEMS = 12
"""The largest number of disagreements that the check prints."""


@dataclass(frozen=True)
class Row:
    """A workload with the answer of the control plane and the answer of `gpuc trace`."""

    workload: RandomWorkload
    real: Answer
    traced: Answer

    @property
    def outcome(self) -> str:
        """The class of the answer of `gpuc trace`."""
        if self.traced.verdict not in ("yes", "no"):
            return NOT_JUDGED
        if self.traced.verdict == self.real.verdict:
            return AGREED
        return WRONG_YES if self.traced.verdict == "yes" else WRONG_NO

    @property
    def same_component(self) -> bool:
        """Whether both refuse the workload because of the same component."""
        return self.outcome == AGREED and self.real.by == self.traced.by


EXPLAINED: dict[str, dict[str, str]] = table(__file__, "explained.yaml")
"""Why a "wrong no" or "not judged" is accepted, by the class of the answer.

The key of a reason is the mutation of the workload, or words in the message of `gpuc trace`.
"""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    rows: Sequence[Row]
    seconds: float

    @cached_property
    def counts(self) -> Counter[str]:
        """Number of workloads by the class of the answer."""
        return Counter(row.outcome for row in self.rows)

    def of(self, outcome: str) -> list[Row]:
        """Returns the rows with a class of answers."""
        return [row for row in self.rows if row.outcome == outcome]

    def summary(self) -> str:
        """Returns the result in one line."""
        counts = self.counts
        refused = [row for row in self.rows if row.real.verdict == "no"]
        same = sum(row.same_component for row in refused)
        return (
            f"{len(self.rows)} workloads, {len(refused)} of them do not run; {counts[AGREED]} answers agree, "
            f"{counts[WRONG_YES]} wrong yes, {counts[WRONG_NO]} wrong no, {counts[NOT_JUDGED]} not judged; "
            f"{same} refusals by the same component; {self.seconds / 60:.1f} minutes"
        )

    def problems(self) -> list[str]:
        """Returns why the answers are not good enough: limits that are exceeded, and unexplained disagreements."""
        total, found = len(self.rows), list[str]()
        if wrong := self.counts[WRONG_YES]:
            found.append(f"{wrong} wrong yes; none is allowed")
        for outcome, most in ((WRONG_NO, MAX_WRONG_NO), (NOT_JUDGED, MAX_NOT_JUDGED)):
            if self.counts[outcome] > most * total:
                found.append(f"{self.counts[outcome]} of {total} {outcome}; at most {most:.0%} are allowed")
        unexplained = [row for row in self.rows if row.outcome in (WRONG_NO, NOT_JUDGED) and explanation(row) is None]
        if unexplained:
            found.append(f"{len(unexplained)} wrong no or not judged without an explanation")
        examples = [*self.of(WRONG_YES), *unexplained][:PROBLEMS]
        return [*found, *(" | ".join(_described(row)) for row in examples)]


def explanation(row: Row) -> str | None:
    """Returns why a disagreement is accepted; None if it is not."""
    known = EXPLAINED.get(row.outcome, {})
    return known.get(row.workload.mutation) or next(
        (reason for words, reason in known.items() if words in row.traced.message), None
    )


def markdown(comparison: Comparison) -> str:
    """Returns the report: the totals, a table by mutation, and each disagreement."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    keys: dict[str, Callable[[Row], str]] = {
        "cluster": lambda row: row.workload.cluster,
        "kind": lambda row: row.workload.kind,
        "mutation": lambda row: row.workload.mutation or CORRECT,
    }
    lines = [
        "# gpuc trace and the real programs",
        "",
        "`make conformance-all` compares the verdict of `gpuc trace` with the API server, Gatekeeper, Kueue, the",
        "controllers of Kubernetes, of JobSets and of Ray, the scheduler and Karpenter, and writes this page. Half of",
        "the random workloads are correct, the others have one mutation. The real programs decide which workloads run.",
        "",
        f"{day}: {comparison.summary()}.",
        "",
        *(
            line
            for name, key in keys.items()
            for line in (*markdown_table((name, *_COLUMNS), _groups(comparison.rows, key)), "")
        ),
        *_explanations(comparison),
    ]
    for outcome in (WRONG_YES, WRONG_NO, NOT_JUDGED):
        rows = comparison.of(outcome)
        lines += [f"## {outcome}: {len(rows)}", ""]
        for row in sorted(rows, key=lambda row: row.workload.mutation):
            title, *details = _described(row)
            lines += [f"- {title}", *(f"  - {detail}" for detail in details)]
        lines.append("")
    correct = [row for row in comparison.rows if not row.workload.mutation and row.real.verdict == "no"]
    lines += [f"## without a mutation, refused by the real programs: {len(correct)}", ""]
    lines += [f"- {row.workload.name}: {_text(row.real)}" for row in correct]
    return "\n".join([*lines, ""])


_COLUMNS = ("workloads", "run", "agreed", "same component", "wrong yes", "wrong no", "not judged")


def _groups(rows: Iterable[Row], key: Callable[[Row], str]) -> Iterator[tuple[str, ...]]:
    """Yields a line of a table for each group of rows, and a line for all rows."""
    by_key: dict[str, list[Row]] = {}
    for row in rows:
        by_key.setdefault(key(row), []).append(row)
    everything = [row for group in by_key.values() for row in group]
    for name, group in [*sorted(by_key.items()), ("**all**", everything)]:
        counts = Counter(row.outcome for row in group)
        refused = [row for row in group if row.real.verdict == "no"]
        same = f"{sum(row.same_component for row in refused)} of {len(refused)}"
        cells = (len(group), len(group) - len(refused), counts[AGREED], same, counts[WRONG_YES], counts[WRONG_NO],
                 counts[NOT_JUDGED])  # fmt: skip
        yield name, *map(str, cells)


def _explanations(comparison: Comparison) -> Iterator[str]:
    """Yields the accepted classes of disagreements with the number of their workloads."""
    counts = Counter(reason for row in comparison.rows if (reason := explanation(row)))
    for outcome, reasons in EXPLAINED.items():
        yield from (f"- {outcome}, {counts[reason]} workloads: {reason}" for reason in reasons.values())
    yield ""


def _described(row: Row) -> list[str]:
    reason = explanation(row)
    return [
        row.workload.name,
        f"real: {_text(row.real)}",
        f"gpuc trace: {_text(row.traced)}",
        *([f"accepted: {reason}"] if reason else []),
        f"`{json.dumps(row.workload.document)}`",
    ]


def _text(answer: Answer) -> str:
    message = " ".join(answer.message.split())
    if len(message) > MESSAGE_LENGTH:
        message = f"{message[:MESSAGE_LENGTH]}..."
    return " ".join(filter(None, (answer.verdict, answer.by and f"by {answer.by}:", message)))
