"""What a trace prints: each step with the object that decides, where it stands, and why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuc import __version__
from gpuc.diagnostics.finding import Mark, Path
from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.kubernetes.amounts import Amounts, described
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import place
from gpuc.trace import Stage, Step, TraceResult, Work
from gpuc.trace.steps import Placement

VERSION = 1
_COLOUR = {"passed": "32", "failed": "1;31", "bypassed": "33", "not judged": "33"}
_COLUMNS = 32
"""Where the messages begin."""

Locate = Callable[[Manifest, Path], Mark | None]


@dataclass(frozen=True)
class Traced:
    """Some work and its way."""

    work: Work
    walk: TraceResult
    asked: dict[str, Amounts]
    """What a pod of each pod set asks for, with what its namespace adds."""
    note: str = ""
    """Where the work itself stands."""


def render(form: str, traced: Sequence[Traced], locate: Locate, *, colour: bool = False) -> str:
    """The report as text, or as one indented JSON object."""
    if form == "json":
        document = {"version": VERSION, "gpuc": __version__, "traces": [_data(each, locate) for each in traced]}
        return json.dumps(document, indent=2) + "\n"
    paint = Paint(colour)
    return "\n".join("\n".join(_lines(each, locate, paint)) + "\n" for each in traced)


def _lines(each: Traced, locate: Locate, paint: Paint) -> Iterator[str]:
    work = each.work
    where = f"namespace {work.namespace or '(none)'}, queue {work.queue or '(none)'}"
    yield visible(f"{work.kind} {work.name}: {where}{f', {each.note}' if each.note else ''}")
    for pods in work.pod_sets:
        yield visible(f"  {pods.name}: {pods.count} x {described(each.asked[pods.name])}")
    several = len(work.pod_sets) > 1
    for step in each.walk.steps:
        name = step.stage.value
        message = f"{step.pods}: {step.message}" if several and step.pods else step.message
        yield f"  {paint(_COLOUR[step.verdict], f'{step.verdict:<10}')}  {name:<16}  {visible(message)}"
        if shown := _place(step, locate) or (each.note if step.failed else ""):
            yield f"{'':<{_COLUMNS}}{visible(shown)}"
        if step.fix:
            yield f"{'':<{_COLUMNS}}{paint('1', visible(f'change: {step.fix}'))}"
    yield paint("1", visible(_end(each.walk)))


def _place(step: Step, locate: Locate) -> str:
    """The object that decides, with its place; nothing for steps about what is not there."""
    if step.manifest is None:
        return ""
    mark = locate(step.manifest, step.path)
    parts = [str(step.manifest), place(step.path), str(mark) if mark else step.manifest.file]
    return ", ".join(filter(None, parts))


def _end(walk: TraceResult) -> str:
    failure = walk.failure
    if failure is not None:
        kind = "refused" if walk.verdict == "refused" else "admitted, then pending for ever"
        if failure.stage is Stage.API:
            return "refused, by the API server"
        if walk.bypass and walk.verdict == "pending":
            return f"pending for ever, by {walk.by}: {failure.stage.value}; Kueue leaves it alone"
        return f"{kind}, by {walk.by}: {failure.stage.value}"
    ends = [_placed(name, placement) for name, placement in walk.placements.items()]
    beside = "; Kueue leaves it alone: it counts for no quota" if walk.bypass else ""
    return f"gets its nodes: {'; '.join(ends)}{beside}"


def _placed(name: str, at: Placement) -> str:
    nodes = f"{at.nodes} x " if at.nodes is not None else ""
    node = f"{nodes}{' or '.join(at.instance_types)} of {', '.join(at.pools)}" if at.pools else "nodes are not judged"
    borrowed = f", borrowing {described(at.borrowed)}" if at.borrowed else ""
    return f"{name} {node} by flavor {', '.join(at.flavors) or '(none)'}{borrowed}"


def _data(each: Traced, locate: Locate) -> dict[str, Any]:
    work, walk = each.work, each.walk
    placements = {
        name: {
            "flavors": list(at.flavors),
            "borrowed": at.borrowed,
            "pools": list(at.pools),
            "instanceTypes": list(at.instance_types),
            "nodes": at.nodes,
        }
        for name, at in walk.placements.items()
    }
    return {
        "kind": work.kind,
        "name": work.name,
        "namespace": work.namespace,
        "queue": work.queue,
        "pods": {pods.name: {"count": pods.count, "requests": each.asked[pods.name]} for pods in work.pod_sets},
        "verdict": walk.verdict,
        "by": walk.by or None,
        "bypass": walk.bypass or None,
        "placements": placements,
        "steps": [_step(step, locate) for step in walk.steps],
    }


def _step(step: Step, locate: Locate) -> dict[str, Any]:
    mark = locate(step.manifest, step.path) if step.manifest else None
    return {
        "stage": step.stage.value,
        "podSet": step.pods or None,
        "verdict": step.verdict,
        "message": step.message,
        "fix": step.fix or None,
        "object": str(step.manifest) if step.manifest else None,
        "path": list(step.path),
        "file": mark.file if mark else (step.manifest.file if step.manifest else None),
        "line": mark.line if mark else None,
        "column": mark.column if mark else None,
    }
