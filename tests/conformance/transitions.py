"""Compares the impacts that gpuc plan predicts with what happens on a real control plane, for edits of the examples.

`python -m tests.conformance.transitions [--edits ci|made|pull-requests|leaves|all] [--cluster NAME] [--name TEXT]
[--limit N]`.
`--record FILE` keeps the observations; edits that the file has are not made again. `--replay FILE` compares recorded
observations with the impacts without a control plane.
"""

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from gpuc.pipeline.stages import CompiledSpec
from gpuc.plan.change import Change
from gpuc.plan.planner import plan_cluster
from gpuc_rehearsal.client import ApiError, WaitError
from gpuc_rehearsal.crds import Definitions, definitions
from gpuc_rehearsal.plane import ControlPlane
from gpuc_rehearsal.programs import Programs, find_programs
from gpuc_rehearsal.substitute import settings
from gpuc_rehearsal.transition.filling import Filling, fillings, user_work
from gpuc_rehearsal.transition.run import shared_settings
from gpuc_rehearsal.transition.synced_changes import diff_objects
from tests.conformance.check_result import CheckResult, print_progress
from tests.conformance.revertible_state import RevertibleState
from tests.conformance.shared_plane import upstream_crds
from tests.conformance.transition_agreement import (
    FAILED,
    NOT_COMPILED,
    Comparison,
    Observation,
    compare,
    observations_of,
)
from tests.conformance.transition_edits import Edit, State, example_state, leaf_edits, made_edits
from tests.conformance.transition_pull_requests import pull_request_edits
from tests.conformance.transition_record import Record, record, recorded
from tests.conformance.transition_report import RECORD, Row, markdown, problems, summary

Progress = Callable[[str], None]
INERT_KINDS = {
    "ConfigMap",
    "NetworkPolicy",
    "Service",
    "ServiceAccount",
    "EC2NodeClass",
    "PrometheusRule",
    "PodMonitor",
}
INERT_GROUPS = ("monitoring.coreos.com", "cilium.io", "karpenter.k8s.aws", "nvidia.com")
"""Kinds and API groups that no program of the control plane reads."""
READY_ATTEMPTS = 2
CI, ALL = "ci", "all"


def ci_edits() -> list[Edit]:
    """Returns the edits of `make conformance`."""
    return [edit for edit in made_edits() if edit.is_ci]


def chosen(edits: str, folder: Path) -> list[Edit]:
    """Returns the edits of a selection.

    Args:
        edits: ci, made, pull-requests, leaves or all.
        folder: an empty folder for the states of pull requests.
    """
    kinds: dict[str, Callable[[], Iterable[Edit]]] = {
        "made": made_edits,
        "pull-requests": lambda: pull_request_edits(folder),
        "leaves": leaf_edits,
    }
    names = kinds if edits == ALL else (edits,)
    return ci_edits() if edits == CI else [edit for name in names for edit in kinds[name]()]


def run(edits: Sequence[Edit], progress: Progress, finished: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """Makes the edits, those of a cluster on one control plane. `finished` receives each result at once."""
    programs = find_programs()
    rows: list[Row] = []
    for _, of_plane in groupby(sorted(edits, key=_plane), _plane):
        for row in _run_plane(programs, list(of_plane), progress):
            finished(row)
            rows.append(row)
    order = {edit.name: number for number, edit in enumerate(edits)}
    return sorted(rows, key=lambda row: order[row.edit.name])


def _plane(edit: Edit) -> tuple[str, str]:
    return edit.cluster, edit.plane


def _run_plane(programs: Programs, edits: Sequence[Edit], progress: Progress) -> Iterator[Row]:
    cluster, own = _plane(edits[0])
    origin = _compiled(edits[0].before if own else example_state(cluster))
    work = _work(origin)
    if edits[0].workloads:
        work, _ = user_work((manifest.document() for manifest in edits[0].workloads), origin.cluster)
    frameworks = (spec.cluster.frameworks for spec in (origin, *_states(edits)))
    crds = definitions(programs, upstream_crds(), dict.fromkeys(name for names in frameworks for name in names))
    given = shared_settings(origin, _states(edits), crds)
    progress(f"{cluster} {own}: {len(edits)} edits")
    with ControlPlane(programs, given, progress) as plane:
        state = RevertibleState(plane, given, crds, origin)
        for problem in state.apply(lambda step: None):
            progress(f"{cluster}: {problem}")
        for text, problem in state.fill(work).items():
            progress(f"{cluster}: {text} does not run: {problem}")
        for base, group in groupby(sorted(edits, key=lambda edit: edit.base), lambda edit: edit.base):
            yield from _run_base(state, origin, list(group), base, crds, progress)


def _run_base(
    state: RevertibleState,
    origin: CompiledSpec,
    edits: Sequence[Edit],
    base: str,
    crds: Definitions,
    progress: Progress,
) -> Iterator[Row]:
    if base:
        # Work that runs before a queue or a pool leaves cannot be started afterwards.
        for spec in (origin, _compiled(edits[0].before)):
            for text, problem in state.rebase(spec, _work(spec)).items():
                progress(f"{base.strip()}: {text} does not run: {problem}")
    for number, edit in enumerate(edits, 1):
        started = time.monotonic()
        try:
            if state.is_changed:
                _revert(state, progress)
            row = _run_edit(state, edit, crds)
        except (ApiError, WaitError):
            row = Row(edit, Comparison(FAILED, problems=[traceback.format_exc()]))
        row = replace(row, seconds=time.monotonic() - started)
        progress(f"{number} of {len(edits)} {row.seconds:5.1f} s  {row.comparison.verdict:13}  {edit.name}")
        for problem in row.comparison.problems:
            progress(f"        {problem}")
        yield row


def _run_edit(state: RevertibleState, edit: Edit, crds: Definitions) -> Row:
    after = edit.after.compiled()
    if isinstance(after, str):
        return Row(edit, Comparison(NOT_COMPILED), note=after)
    observed = state.check(after) if _is_inert(state, after, crds) else state.change_to(after)
    observations = observations_of(observed, state.before.cluster, after.cluster)
    return predicted_row(edit, observations, state.before, after, state.work)


def _revert(state: RevertibleState, progress: Progress) -> None:
    left: dict[str, str] = {}
    for _ in range(READY_ATTEMPTS):
        if not (left := state.revert()):
            return
        progress("; ".join(f"{text} does not run again: {problem}" for text, problem in left.items()))
    state.work = [filling for filling in state.work if str(filling) not in left]


def _compiled(state: State) -> CompiledSpec:
    spec = state.compiled()
    assert isinstance(spec, CompiledSpec), spec
    return spec


def _work(spec: CompiledSpec) -> list[Filling]:
    return fillings(spec.cluster, keeps_all=True)


def predicted_row(
    edit: Edit,
    observations: Sequence[Observation],
    before: CompiledSpec,
    after: CompiledSpec,
    work: Sequence[Filling],
) -> Row:
    """Returns the comparison of an edit with the impacts that gpuc plan predicts now."""
    try:
        change = Change(edit.before.planned(before), edit.after.planned(after), edit.workloads)
        impacts = plan_cluster(change).impacts
        comparison = compare(impacts, observations, before, after, work)
    except Exception:
        comparison = Comparison(FAILED, problems=[traceback.format_exc()])
    return Row(edit, comparison, tuple(observations))


def replay(edits: Sequence[Edit], recorded: Mapping[str, Record]) -> list[Row]:
    """Compares the predictions with recorded observations, without a control plane."""
    rows = []
    for edit in edits:
        after, known = edit.after.compiled(), recorded.get(edit.name)
        if isinstance(after, str):
            rows.append(Row(edit, Comparison(NOT_COMPILED), note=after))
        elif known:
            before = _compiled(edit.before)
            work = _work(before if edit.plane else _compiled(example_state(edit.cluster)))
            row = predicted_row(edit, known.observations, before, after, work)
            rows.append(replace(row, seconds=known.seconds))
    return rows


def _is_inert(state: RevertibleState, after: CompiledSpec, crds: Definitions) -> bool:
    """Returns whether no program of the control plane reads what the change changes."""
    change = diff_objects(state.before.synced, after.synced)
    for manifest in (*change.written, *change.removed):
        group = manifest.api.rpartition("/")[0]
        if manifest.kind not in INERT_KINDS and group not in INERT_GROUPS:
            return False
    old, new = settings(state.before, crds), settings(after, crds)
    return (old.kueue_configuration, old.feature_gates) == (new.kueue_configuration, new.feature_gates)


def _states(edits: Sequence[Edit]) -> Iterator[CompiledSpec]:
    for edit in edits:
        for state in (edit.before, edit.after) if edit.base else (edit.after,):
            spec = state.compiled()
            if isinstance(spec, CompiledSpec):
                yield spec


def check(progress: Progress) -> CheckResult:
    """Makes the ten edits of `make conformance`."""
    rows = run(ci_edits(), progress)
    name = "gpuc plan predicts what edits do on a real control plane"
    return CheckResult(name, "\n".join(problems(rows)), summary(rows))


def main(arguments: Sequence[str]) -> int:
    """Makes edits, and writes the report; returns 1 if a prediction is wrong or missing."""
    parser = argparse.ArgumentParser(prog="tests.conformance.transitions")
    parser.add_argument("--edits", choices=(CI, "made", "pull-requests", "leaves", ALL), default=ALL)
    parser.add_argument("--cluster", help="only the edits of this example cluster")
    parser.add_argument("--name", default="", help="only the edits whose name contains this text")
    parser.add_argument("--limit", type=int, help="at most this number of edits, spread over all")
    parser.add_argument("--report", type=Path, help=f"the file of the report (default: {RECORD.name} without a filter)")
    parser.add_argument(
        "--record", type=Path, help="keep the observations in this file, and make only the edits that it does not have"
    )
    parser.add_argument("--replay", type=Path, help="read the observations from this file, without a control plane")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with TemporaryDirectory() as folder:
        rows = _rows(given, _selected(given, Path(folder)))
    for problem in problems(rows):
        print(f"FAILED  {problem}")
    print(summary(rows), flush=True)
    return int(bool(problems(rows)))


def _selected(given: argparse.Namespace, folder: Path) -> list[Edit]:
    edits = [edit for edit in chosen(given.edits, folder) if given.name in edit.name]
    edits = [edit for edit in edits if given.cluster in (None, edit.cluster)]
    if given.limit and len(edits) > given.limit:
        edits = [edits[index * len(edits) // given.limit] for index in range(given.limit)]
    return edits


def _rows(given: argparse.Namespace, edits: Sequence[Edit]) -> list[Row]:
    """Makes or replays the edits, and writes the report."""

    def finished(row: Row) -> None:
        if given.record:
            record(given.record, [row])

    if given.replay:
        rows = replay(edits, recorded(given.replay))
    else:
        known = recorded(given.record) if given.record and given.record.exists() else {}
        rows = replay([edit for edit in edits if edit.name in known], known)
        rows += run([edit for edit in edits if edit.name not in known], print_progress, finished)
    is_complete = given.edits == ALL and not (given.name or given.cluster or given.limit or given.replay)
    if report := given.report or (RECORD if is_complete else None):
        finished_names = {row.edit.name for row in rows}
        not_run = [edit.name for edit in edits if edit.name not in finished_names]
        report.write_text(markdown(rows, not_run), encoding="utf-8")
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
