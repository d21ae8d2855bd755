"""Compares the impacts that gpuc plan predicts with what happens on a real control plane, for edits of the examples.

`python -m tests.conformance.transitions [--edits ci|made|leaves|all] [--cluster NAME] [--name TEXT] [--limit N]`.
`--record FILE` keeps the observations, and `--replay FILE` compares them with the impacts without a control plane.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from gpuc.pipeline.stages import CompiledSpec
from gpuc.plan.change import Change
from gpuc.plan.planner import plan_cluster
from gpuc.plan.states import state_after
from gpuc.rehearse.argocd.object_diff import diff_objects
from gpuc.rehearse.client import ApiError, WaitError
from gpuc.rehearse.crds import Definitions, definitions
from gpuc.rehearse.plane import ControlPlane
from gpuc.rehearse.programs import Programs, find_programs
from gpuc.rehearse.substitute import settings
from gpuc.rehearse.transition.filling import fillings
from gpuc.rehearse.transition.programs import shared_settings
from gpuc.rehearse.transition.running import RunningState
from tests.conformance.check_result import CheckResult
from tests.conformance.shared_plane import upstream_crds
from tests.conformance.transition_agreement import (
    FAILED,
    NOT_COMPILED,
    Comparison,
    Observation,
    compare,
    observations_of,
)
from tests.conformance.transition_edits import Edit, compiled, leaf_edits, made_edits
from tests.conformance.transition_record import record, recorded
from tests.conformance.transition_report import RECORD, Row, markdown, problems, summary
from tests.conftest import example
from tests.pipeline.memory import source

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


def chosen(edits: str) -> list[Edit]:
    """Returns the edits of a selection: ci, made, leaves or all."""
    made = made_edits()
    if edits == "ci":
        return [edit for edit in made if edit.is_ci]
    leaves = list(leaf_edits()) if edits in ("leaves", "all") else []
    return [*(made if edits in ("made", "all") else ()), *leaves]


def run(edits: Sequence[Edit], progress: Progress, finished: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """Makes the edits, on one control plane for each cluster. `finished` receives each result at once."""
    programs = find_programs()
    rows: list[Row] = []
    for cluster, of_cluster in groupby(sorted(edits, key=lambda edit: edit.cluster), lambda edit: edit.cluster):
        for row in _run_cluster(programs, cluster, list(of_cluster), progress):
            finished(row)
            rows.append(row)
    order = {edit.name: number for number, edit in enumerate(edits)}
    return sorted(rows, key=lambda row: order[row.edit.name])


def _run_cluster(programs: Programs, cluster: str, edits: Sequence[Edit], progress: Progress) -> Iterator[Row]:
    before = compiled(cluster, source(cluster).tree)
    assert isinstance(before, CompiledSpec), before
    crds = definitions(programs, upstream_crds(), before.cluster.frameworks)
    given = shared_settings(before, _states(edits), crds)
    progress(f"{cluster}: {len(edits)} edits")
    with ControlPlane(programs, given, progress) as plane:
        state = RunningState(plane, given, crds, before)
        for problem in state.apply(lambda step: None):
            progress(f"{cluster}: {problem}")
        for text, problem in state.fill(fillings(before.cluster, keeps_all=True)).items():
            progress(f"{cluster}: {text} does not run: {problem}")
        for base, group in groupby(sorted(edits, key=lambda edit: edit.base), lambda edit: edit.base):
            yield from _run_base(state, list(group), base, crds, progress)


def _run_base(
    state: RunningState, edits: Sequence[Edit], base: str, crds: Definitions, progress: Progress
) -> Iterator[Row]:
    if base:
        before = compiled(edits[0].cluster, edits[0].before)
        assert isinstance(before, CompiledSpec), before
        for text, problem in state.rebase(before, fillings(example(edits[0].cluster), keeps_all=True)).items():
            progress(f"{base.strip()}: {text} does not run: {problem}")
    for number, edit in enumerate(edits, 1):
        started = time.monotonic()
        try:
            row = _run_edit(state, edit, crds, progress)
        except (ApiError, WaitError):
            row = Row(edit, Comparison(FAILED, problems=[traceback.format_exc()]))
        row = replace(row, seconds=time.monotonic() - started)
        progress(f"{number} of {len(edits)} {row.seconds:5.1f} s  {row.comparison.verdict:13}  {edit.name}")
        for problem in row.comparison.problems:
            progress(f"        {problem}")
        yield row


def _run_edit(state: RunningState, edit: Edit, crds: Definitions, progress: Progress) -> Row:
    after = compiled(edit.cluster, edit.after)
    if isinstance(after, str):
        return Row(edit, Comparison(NOT_COMPILED), note=after)
    if _is_inert(state, after, crds):
        observed = state.check(after)
    else:
        try:
            observed = state.change_to(after)
        finally:
            _revert(state, after, progress)
    observations = observations_of(observed, state.before.cluster, after.cluster)
    return predicted_row(edit, observations, state.before, after)


def _revert(state: RunningState, after: CompiledSpec, progress: Progress) -> None:
    for _ in range(READY_ATTEMPTS):
        left = state.revert(after)
        if not left:
            return
        progress("; ".join(f"{text} does not run again: {problem}" for text, problem in left.items()))


def predicted_row(edit: Edit, observations: Sequence[Observation], before: CompiledSpec, after: CompiledSpec) -> Row:
    """Returns the comparison of an edit with the impacts that gpuc plan predicts now."""
    work = fillings(example(edit.cluster), keeps_all=True)
    try:
        impacts = plan_cluster(Change(state_after(before), state_after(after))).impacts
        comparison = compare(impacts, observations, before, after, work)
    except Exception:
        comparison = Comparison(FAILED, problems=[traceback.format_exc()])
    return Row(edit, comparison, tuple(observations))


def replay(edits: Sequence[Edit], recorded: Mapping[str, Sequence[Observation]]) -> list[Row]:
    """Compares the predictions with recorded observations, without a control plane."""
    rows = []
    for edit in edits:
        if edit.name in recorded:
            before, after = compiled(edit.cluster, edit.before), compiled(edit.cluster, edit.after)
            assert isinstance(before, CompiledSpec), before
            if isinstance(after, CompiledSpec):
                rows.append(predicted_row(edit, recorded[edit.name], before, after))
            else:
                rows.append(Row(edit, Comparison(NOT_COMPILED), note=after))
    return rows


def _is_inert(state: RunningState, after: CompiledSpec, crds: Definitions) -> bool:
    """Returns whether no program of the control plane reads what the change changes."""
    change = diff_objects(state.before.synced, after.synced)
    for manifest in (*change.written, *change.removed):
        group = manifest.api.rpartition("/")[0]
        if manifest.kind not in INERT_KINDS and group not in INERT_GROUPS:
            return False
    old, new = settings(state.before, crds), settings(after, crds)
    return (old.kueue_configuration, old.karpenter_gates) == (new.kueue_configuration, new.karpenter_gates)


def _states(edits: Sequence[Edit]) -> Iterator[CompiledSpec]:
    for edit in edits:
        for tree in (edit.before, edit.after) if edit.base else (edit.after,):
            spec = compiled(edit.cluster, tree)
            if isinstance(spec, CompiledSpec):
                yield spec


def check(progress: Progress) -> CheckResult:
    """Makes the twenty edits of `make conformance`."""
    rows = run(chosen("ci"), progress)
    name = "gpuc plan predicts what edits do on a real control plane"
    return CheckResult(name, "\n".join(problems(rows)), summary(rows))


def main(arguments: Sequence[str]) -> int:
    """Makes edits, and writes the report; returns 1 if a prediction is wrong or missing."""
    parser = argparse.ArgumentParser(prog="tests.conformance.transitions")
    parser.add_argument("--edits", choices=("ci", "made", "leaves", "all"), default="all")
    parser.add_argument("--cluster", help="only the edits of this example cluster")
    parser.add_argument("--name", default="", help="only the edits whose name contains this text")
    parser.add_argument("--limit", type=int, help="at most this number of edits, spread over all")
    parser.add_argument("--report", type=Path, help=f"the file of the report (default: {RECORD.name} without a filter)")
    parser.add_argument("--record", type=Path, help="write the observations to this file")
    parser.add_argument("--replay", type=Path, help="read the observations from this file, without a control plane")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    edits = [edit for edit in chosen(given.edits) if given.name in edit.name]
    edits = [edit for edit in edits if given.cluster in (None, edit.cluster)]
    if given.limit and len(edits) > given.limit:
        edits = [edits[index * len(edits) // given.limit] for index in range(given.limit)]

    def progress(line: str) -> None:
        print(f"    {line}", file=sys.stderr, flush=True)

    def finished(row: Row) -> None:
        if given.record:
            record(given.record, [row])

    rows = replay(edits, recorded(given.replay)) if given.replay else run(edits, progress, finished)
    is_complete = given.edits in ("made", "all") and not (given.name or given.cluster or given.limit or given.replay)
    if report := given.report or (RECORD if is_complete else None):
        finished_names = {row.edit.name for row in rows}
        not_run = [edit.name for edit in edits if edit.name not in finished_names]
        report.write_text(markdown(rows, not_run), encoding="utf-8")
    for problem in problems(rows):
        print(f"FAILED  {problem}")
    print(summary(rows), flush=True)
    return int(bool(problems(rows)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
