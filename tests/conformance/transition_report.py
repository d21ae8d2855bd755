"""The report of compared transitions: benchmarks/transitions.md."""

import datetime
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gpuc.plan.impact import IMPACTS
from tests.conformance.check_result import markdown_table
from tests.conformance.transition_agreement import (
    AGREES,
    DISAGREES,
    FAILED,
    NOT_COMPILED,
    NOT_SIMULATED,
    Comparison,
    Observation,
)
from tests.conformance.transition_edits import Edit
from tests.conftest import ROOT

RECORD = ROOT / "benchmarks" / "transitions.md"
VERDICTS = (AGREES, NOT_SIMULATED, DISAGREES, NOT_COMPILED, FAILED)
_OF_MACHINES = "the recorded transitions are of prod-use1, which has no existing nodes"
_OF_RUNTIMES = "no recorded edit changes a training runtime: the control plane has no controller of TrainJobs"
_OF_ALERTS = "no recorded edit changes these settings of alerts: the control plane has no Prometheus"
WITHOUT_TRANSITION = {
    **dict.fromkeys((f"IMP{number}" for number in (*range(114, 120), *range(124, 130))), _OF_MACHINES),
    **dict.fromkeys(("IMP264", "IMP265"), _OF_RUNTIMES),
    **dict.fromkeys(("IMP530", "IMP531"), _OF_ALERTS),
    "IMP508": "a removed cluster has no state after; the last edit in [argocd.md](argocd.md) removes a cluster",
    "IMP520": "a new cluster has no state before; the first sync in [argocd.md](argocd.md) adds a cluster",
}
"""The impacts that no recorded transition has, and why."""
_LENGTH = 300
_HEAD = (
    "`python -m tests.conformance.transitions` applies each edit of an example spec to a control plane that is full of "
    "work (etcd, the API server, Kueue, Gatekeeper, and Karpenter with simulated nodes), and compares what happens "
    "with the impacts that `gpuc plan` predicts."
)
_VERDICT_HELP = (
    "agree: every disturbance has an impact, and the control plane shows every prediction that it can show. not "
    "simulated: the edit has impacts, but only for parts that the control plane does not have, such as EC2NodeClasses. "
    "does not compile: gpuc reports an error in the edited spec."
)
_IMPACTS = (
    "Number of transitions for which `gpuc plan` reports the impact, and in how many of them the control plane showed "
    "one of its predictions. Many impacts predict nothing that a control plane can show, such as costs and network "
    "paths."
)


@dataclass(frozen=True)
class Row:
    """An edit with its comparison."""

    edit: Edit
    comparison: Comparison
    observations: tuple[Observation, ...] | None = None
    """None if the edit was not made."""
    seconds: float = 0
    note: str = ""

    @property
    def is_problem(self) -> bool:
        """Whether a prediction is wrong or missing, and the edit does not document that."""
        return bool(self.comparison.problems) and not self.edit.upstream


def problems(rows: Sequence[Row]) -> list[str]:
    """Returns the undocumented disagreements, one line for each."""
    return [f"{row.edit.name}: {problem}" for row in rows if row.is_problem for problem in row.comparison.problems]


def summary(rows: Sequence[Row]) -> str:
    """Returns the counts in one line."""
    counts = Counter(row.comparison.verdict for row in rows)
    parts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    duration_s = sum(row.seconds for row in rows)
    measured = f"; {duration_s / 60:.0f} min" if duration_s else ""  # replayed observations have no duration
    return f"{len(rows)} edits: {', '.join(parts)}{measured}"


def markdown(rows: Sequence[Row], not_run: Sequence[str] = ()) -> str:
    """Returns the report. `not_run` has the names of edits without an observation."""
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    counts = Counter((row.edit.cluster, row.comparison.verdict) for row in rows)
    clusters = [
        (name, *(str(counts[name, verdict]) for verdict in VERDICTS))
        for name in dict.fromkeys(row.edit.cluster for row in rows)
    ]
    disagreements = [
        (row.edit.name, "; ".join(row.comparison.problems)[:_LENGTH], row.edit.upstream)
        for row in rows
        if row.comparison.problems
    ]
    reported = Counter(id_ for row in rows for id_ in row.comparison.impacts)
    shown = Counter(id_ for row in rows for id_ in row.comparison.shown)
    rules = sorted((check.rule for check in IMPACTS.discover()), key=lambda rule: rule.id)
    impacts = [
        (rule.id, rule.title, str(reported[rule.id]), str(shown[rule.id])) for rule in rules if reported[rule.id]
    ]
    absent = [rule.id for rule in rules if not reported[rule.id]]
    reasons = [f"{id_} ({WITHOUT_TRANSITION[id_]})" if id_ in WITHOUT_TRANSITION else id_ for id_ in absent]
    lines = [
        f"# Predicted impacts and real control planes\n\n{_HEAD}\n",
        f"Date: {day}. {summary(rows)}.\n",
        *markdown_table(("cluster", *VERDICTS), clusters),
        f"\n{_VERDICT_HELP}\n",
        *([f"Not run: {', '.join(not_run)}.\n"] if not_run else []),
        "## Disagreements\n",
        *(markdown_table(("edit", "difference", "reason"), disagreements) if disagreements else ["None."]),
        f"\n## Impacts\n\n{_IMPACTS}\n",
        *markdown_table(("impact", "title", "transitions", "shown"), impacts, "---:"),
        f"\nIn no transition: {', '.join(reasons) or 'none'}.\n",
    ]
    return "\n".join(lines)
