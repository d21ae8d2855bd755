"""The stages between a source and what is printed of it."""

from __future__ import annotations

from pathlib import Path

from compiler.accept import accepted
from compiler.catalog import load
from compiler.catalog.own_policies import own_policies
from compiler.emit import emit_by_component
from compiler.finding import Finding, Stop
from compiler.lock import Departures, Lock
from compiler.manifest import Artifact
from compiler.model import resolve
from compiler.printing import Send
from compiler.removal import departures, unprepared
from compiler.rules import check
from compiler.source import Source
from compiler.spec.parse import parse
from compiler.verify import verify


def stages(root: Path, name: str, source: Source, send: Send, before: Lock | None) -> tuple[list[Finding], Departures]:
    """Parses, resolves, checks, emits and verifies one cluster; its findings that are no errors, and what goes.

    What an emitter made is sent to be printed at once, so that printing and verifying go on side by side.

    Args:
        before: the index of what the specs compiled to until now, against which removals are checked.

    Raises:
        Stop: when a stage finds errors; later stages then do not run.
    """
    cluster = resolve(parse(source), source.file, load(), own_policies(root))
    removals = unprepared(cluster, before) if before else []
    findings = accepted([*source.remarks, *check(cluster), *removals], source.tree)
    if any(finding.is_error for finding in findings):
        raise Stop(findings)
    artifacts: list[Artifact] = []
    for part in emit_by_component(cluster):
        send(name, part, source)
        artifacts += part
    judged = accepted(verify(artifacts, cluster.spec.kubernetes, cluster.components), source.tree, judged=True)
    return findings + judged, departures(cluster)
