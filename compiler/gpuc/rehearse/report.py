"""A rehearsal for people and programs: what was tried, what became of it, and which line of the spec it proves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from gpuc.diagnostics.report.terminal import Paint, visible
from gpuc.rehearse import layout
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.result import Result, Tried, Trouble

LISTED = 40
"""Up to so many scenes are listed one by one on a terminal; more are counted by line and family."""
_WORDS = 120
_HEADINGS = ("spec", "scene", "as expected", "expected", "seen", "s")


def render(form: str, results: Sequence[Result], *, colour: bool = False) -> str:
    """The report in text, json or markdown, ending in a line break.

    Raises:
        KeyError: for an unknown format.
    """
    return layout.rendered(form, results, Paint(colour), "clusters", _text, _markdown, _document)


def outcome_text(outcome: Outcome) -> str:
    """An outcome in words: "refused by Kueue: insufficient quota"."""
    told: str = outcome.verdict
    if outcome.by and outcome.verdict in ("refused", "pending"):
        told += f" by {outcome.by}"
    where = [
        f"flavor {outcome.flavor}" if outcome.flavor else "",
        f"pool {outcome.pool}" if outcome.pool else "",
        f"{outcome.nodes} nodes" if outcome.nodes is not None else "",
        "/".join(outcome.instance_types),
        ", ".join(f"borrows {amount} {name}" for name, amount in outcome.borrowed or ()),
    ]
    told = ", ".join([told, *(part for part in where if part)])
    words = " ".join(outcome.words.split())
    return f"{told}: {words}" if words else told


def closing(result: Result) -> str:
    """The result in one line."""
    parts = [
        f"{len(result.tried)} scenes ({result.distinct} distinct, {result.refusals} refusals)",
        f"{len(result.tried) - len(result.differing)} as expected, {len(result.differing)} different",
        f"{result.objects} objects applied, {len(result.troubles)} in trouble",
        f"{sum(result.seconds.values()):.1f} s, {result.memory_mib} MiB",
    ]
    return f"{result.cluster}: {'; '.join(parts)}"


def _text(result: Result, paint: Paint) -> str:
    lines = [paint("1", f"{result.cluster} ({result.file})"), ""]
    lines += layout.columns(_rows(result))
    for trouble in result.troubles:
        lines += ["", f"{paint('1', str(trouble.mark))}  {paint('1;31', trouble.kind)}  {visible(trouble.object)}"]
        lines.append(f"    {visible(trouble.words)}")
    for each in result.differing:
        scene = each.played.scene
        lines += [
            "",
            f"{paint('1', str(each.mark))}  {paint('1;31', 'different')}  {scene.family}/{visible(scene.name)}",
        ]
        lines.append(f"    expected  {visible(outcome_text(scene.expected))}")
        lines.append(f"    seen      {visible(outcome_text(each.played.seen))}")
    lines += layout.sections(_sections(result), "{}:", "  - ")
    steps = ", ".join(f"{name} {taken:.1f} s" for name, taken in result.seconds.items())
    good = paint("1;32", "good") if result.is_good else paint("1;31", "not good")
    return "\n".join([*lines, "", steps, f"{closing(result)}: {good}", ""])


def _rows(result: Result) -> Iterator[tuple[str, ...]]:
    """Scenes one by one where they are few, else by line and family; the heading comes first."""
    if len(result.tried) <= LISTED:
        yield ("proves", "scene", "ends", "s")
        for each in result.tried:
            scene, seen = each.played.scene, outcome_text(each.played.seen)
            mark = f"{each.mark.file}:{each.mark.line}"
            yield mark, f"{scene.family}/{scene.name}", layout.shortened(seen, _WORDS), f"{each.played.seconds:.1f}"
        return
    yield ("proves", "family", "scenes", "refusals", "as expected", "s")
    for (file, line, family), group in groupby(result.tried, _place):
        scenes = list(group)
        good = sum(each.played.agrees for each in scenes)
        refusals = sum(each.played.scene.is_refusal for each in scenes)
        longest = max(each.played.seconds for each in scenes)
        yield f"{file}:{line}", family, str(len(scenes)), str(refusals), str(good), f"{longest:.1f}"


def _place(each: Tried) -> tuple[str, int, str]:
    return each.mark.file, each.mark.line, each.played.scene.family


def _markdown(result: Result) -> str:
    lines = [f"## Rehearsal of {result.cluster}", "", closing(result), ""]
    if result.troubles:
        rows = ((str(trouble.mark), trouble.kind, trouble.object, trouble.words) for trouble in result.troubles)
        lines += [*layout.table(("spec", "trouble", "object", "words"), rows), ""]
    lines += layout.table(_HEADINGS, _scene_rows(result), last="---:")
    return "\n".join([*lines, *layout.sections(_sections(result), "### {}\n", "- "), ""])


def _sections(result: Result) -> layout.Sections:
    return ("Substituted", result.substitutions), ("Could not be judged", result.unjudged)


def _scene_rows(result: Result) -> Iterator[tuple[str, ...]]:
    for each in result.tried:
        scene, played = each.played.scene, each.played
        expected, seen = outcome_text(scene.expected), layout.shortened(outcome_text(played.seen), _WORDS)
        name, good = f"{scene.family}/{scene.name}", "yes" if played.agrees else "**no**"
        yield f"{each.mark.file}:{each.mark.line}", name, good, expected, seen, f"{played.seconds:.1f}"


def _document(result: Result) -> dict[str, Any]:
    return {
        "cluster": result.cluster,
        "file": result.file,
        "good": result.is_good,
        "objects": result.objects,
        "counts": {
            "scenes": len(result.tried),
            "distinct": result.distinct,
            "refusals": result.refusals,
            "different": len(result.differing),
            "troubles": len(result.troubles),
        },
        "seconds": {name: round(taken, 2) for name, taken in result.seconds.items()},
        "memory_mib": result.memory_mib,
        "troubles": [_trouble(each) for each in result.troubles],
        "scenes": [_scene(each) for each in result.tried],
        "substitutions": list(result.substitutions),
        "unjudged": list(result.unjudged),
    }


def _trouble(trouble: Trouble) -> dict[str, Any]:
    return {"kind": trouble.kind, **asdict(trouble.mark), "object": trouble.object, "words": trouble.words}


def _scene(each: Tried) -> dict[str, Any]:
    scene = each.played.scene
    return {
        "family": scene.family,
        "name": scene.name,
        **asdict(each.mark),
        "path": list(scene.origin),
        "queue": scene.queue,
        "pool": scene.pool,
        "request": scene.request,
        "labels": list(scene.labels),
        "agrees": each.played.agrees,
        "expected": asdict(scene.expected),
        "seen": asdict(each.played.seen),
        "seconds": round(each.played.seconds, 2),
    }
