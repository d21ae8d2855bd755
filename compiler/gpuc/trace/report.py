"""Writes the report of a trace: every check with its message and the object that decides, then the result."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Mark, Path
from gpuc.diagnostics.place import place
from gpuc.diagnostics.report.document import Block, Span, json_text, picked, position, strong
from gpuc.kubernetes.amounts import described
from gpuc.manifest.manifest import Locate
from gpuc.parts.folders import table_beside
from gpuc.trace import Stage, Step, TraceResult, Workload
from gpuc.trace.nodes import several
from gpuc.trace.steps import NO_KUEUE, Placement

VERSION = 2
"""The version of the JSON format."""
_COLOURS = {"passed": "32", "failed": "1;31", **dict.fromkeys(("warned", "bypassed", "assumed", "unknown"), "33")}
_MARGIN = " " * 32
"""The text before the further lines of a message."""
_REASONS = {Stage[name]: reason for name, reason in table_beside(__file__).items()}
"""Reasons why a workload does not start, by the stage that fails."""


class Traced(Struct, frozen=True):
    """A workload with the result of its trace."""

    workload: Workload
    result: TraceResult
    note: str = ""
    """The file, line and column of the workload; empty for a workload from command-line options."""
    place: Callable[[Path], Mark | None] = lambda path: None
    """Returns the position of a field of the workload; None if the position is unknown."""


def document(traced: Sequence[Traced], locate: Locate) -> str:
    """Returns the report about several traces as JSON."""
    return json_text({"traces": [_data(trace, locate) for trace in traced]}, VERSION)


def blocks(traced: Sequence[Traced], locate: Locate) -> Iterator[Block]:
    """Yields the blocks of text of the report for people."""
    for number, trace in enumerate(traced):
        yield from ("", *_trace(trace, locate)) if number else _trace(trace, locate)


def _trace(trace: Traced, locate: Locate) -> Iterator[Block]:
    workload = trace.workload
    where = f"namespace {workload.namespace or '(none)'}, queue {workload.queue or '(none)'}"
    yield f"{workload.kind} {workload.name}: {where}{f', {trace.note}' if trace.note else ''}"
    for pods in workload.pod_sets:
        yield f"  {pods.name}: {pods.count * workload.copies} x {described(trace.result.requests[pods.name])}"
    has_several_sets = len(workload.pod_sets) > 1
    for step in trace.result.steps:
        message = f"{step.pods}: {step.message}" if has_several_sets and step.pods else step.message
        verdict = Span(f"{step.verdict:<10}", _COLOURS[step.verdict])
        yield "  ", verdict, f"  {step.stage.value:<16}  {message}"
        for where in filter(None, (_object(step, locate), _field(trace, step))):
            yield _MARGIN + where
        if step.fix:
            yield _MARGIN, strong(f"fix: {step.fix}")
    yield strong(_conclusion(trace.result))


def _object(step: Step, locate: Locate) -> str:
    """Returns the object that decides, with its path, file and line; empty for a step about a missing object."""
    if step.manifest is None:
        return ""
    mark = locate(step.manifest, step.path)
    parts = [str(step.manifest), place(step.path), str(mark) if mark else step.manifest.file]
    return ", ".join(filter(None, parts))


def _field(trace: Traced, step: Step) -> str:
    """Returns the field of the workload that causes the verdict, with its position; empty for a passed step."""
    if step.verdict == "passed":
        return ""
    mark = trace.place(step.field) if step.field else None
    field = f"{place(step.field)} of the workload" if step.field else ""
    position = str(mark) if mark else trace.note if step.failed and (field or step.manifest is None) else ""
    return ", ".join(filter(None, (field, position)))


def _conclusion(result: TraceResult) -> str:
    """Returns the last line of a report: the outcome for the workload, and the reason."""
    failure = result.failure
    if result.verdict == "not judged":
        reasons = "; ".join(dict.fromkeys(f"{step.stage.value}: {step.message}" for step in result.unknown))
        return f"Result: not judged. No step fails, but gpuc could not judge {reasons}"
    if failure is None:
        placements = "; ".join(_placement(name, placement) for name, placement in result.placements.items())
        outcome = "the pods get nodes"
        unmanaged = " Kueue does not manage this workload, so it uses no quota." if result.bypass else ""
        if result.bypass == NO_KUEUE:
            unmanaged = " No quota counts this workload."
        if result.counted_by:
            unmanaged = f" Kueue does not manage this workload; it is counted by {result.counted_by}."
        needs = "".join(f" {reason}" for reason in dict.fromkeys(step.reason for step in result.assumed))
        needs += "".join(f" Warning: {step.message}." for step in result.steps if step.verdict == "warned")
        return f"Result: {outcome}. {placements}.{needs}{unmanaged}"
    unmanaged = " Kueue does not manage this workload." if result.bypass else ""
    if failure.stage is Stage.SUSPENDED:
        return f"Result: {failure.reason or 'no pods. The workload does not start'}: {failure.message}."
    if result.verdict == "refused":
        outcome = "pending in Kueue" if result.by == "Kueue" else "refused"
        return f"Result: {outcome}. {failure.reason or _REASONS[failure.stage]}{unmanaged}"
    outcome = "pending forever" if result.bypass else "admitted by Kueue, then pending forever"
    nodes = "Karpenter can start no node with enough resources for the pods."
    if result.is_static:
        nodes = "The existing nodes do not have enough resources for the pods."
    return f"Result: {outcome}. {failure.reason or _REASONS.get(failure.stage, nodes)}{unmanaged}"


def _placement(name: str, placement: Placement) -> str:
    count = f"{placement.nodes} x " if placement.nodes is not None else ""
    types, pools = several(placement.instance_types), ", ".join(placement.pools)
    nodes = f"{count}{types} in node pool {pools}" if placement.pools else "nodes unknown"
    borrowed = f", borrows {described(placement.borrowed)}" if placement.borrowed else ""
    return f"{name}: {nodes}, flavor {', '.join(placement.flavors) or '(none)'}{borrowed}"


def _data(trace: Traced, locate: Locate) -> dict[str, Any]:
    workload, result = trace.workload, trace.result
    placements = {
        name: {**picked(placement, "flavors borrowed pools nodes"), "instanceTypes": placement.instance_types}
        for name, placement in result.placements.items()
    }
    pods = {pods.name: {"count": pods.count, "requests": result.requests[pods.name]} for pods in workload.pod_sets}
    return {
        **picked(workload, "kind name namespace queue copies"),
        "pods": pods,
        "verdict": result.verdict,
        "by": result.by or None,
        "bypass": result.bypass or None,
        "countedBy": result.counted_by or None,
        "placements": placements,
        "assumed": [step.message for step in result.assumed],
        "notJudged": [f"{step.stage.value}: {step.message}" for step in result.unknown],
        "steps": [_step(trace, step, locate) for step in result.steps],
    }


def _step(trace: Traced, step: Step, locate: Locate) -> dict[str, Any]:
    manifest = step.manifest
    field_mark = trace.place(step.field) if step.field else None
    return {
        **picked(step, "stage verdict message path field"),
        "podSet": step.pods or None,
        "fix": step.fix or None,
        "object": str(manifest) if manifest else None,
        **(position(locate(manifest, step.path), manifest.file) if manifest else position(None)),
        "fieldLine": field_mark.line if field_mark else None,
    }
