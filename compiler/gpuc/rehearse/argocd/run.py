"""A run of Argo CD over clusters: the first sync, the edits, and the judgement of all of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuc.rehearse.argocd.desk import Desk
from gpuc.rehearse.argocd.edits import Edits
from gpuc.rehearse.argocd.judge import (
    Excuse,
    Failure,
    early_waves,
    out_of_sync,
    refusals,
    restless,
    standstills,
    unfinished,
)
from gpuc.rehearse.argocd.result import EditRun, SyncResult, late, rows
from gpuc.rehearse.argocd.substitutions import HUB_SUBSTITUTION, SUBSTITUTIONS
from gpuc.rehearse.argocd.timeline import Timeline
from gpuc.rehearse.argocd.watch import Watch
from gpuc.rehearse.topology_labels import place_static_nodes

if TYPE_CHECKING:
    from gpuc.rehearse.argocd.hub import ArgoCD

FIRST_SYNC_SECONDS = 1800
"""For each cluster of the run; on two cores that six others shared, the slowest took 704 s."""
STATIC_NODES_SECONDS = 300
REFRESH_SECONDS = 30
"""An Application whose operation is over and that is still Progressing after this time gets a refresh, as the README
advises: Argo CD does not notice that a CRD is established."""

UNJUDGED = (
    "Argo CD's API server, its rights and its sign-on; private repositories; more than one replica or shard.",
    "Upgrades from one release set to another: a chart that moves here has the same content under another version.",
    "Nodes, agents and AWS: what they do to objects in a real cluster shows in no diff here.",
)
"""What this run cannot say."""

Say = Callable[[str], None]


@dataclass
class Lane:
    """One cluster of a run, as far as it has come."""

    name: str
    file: str
    hub: str
    """Where Argo CD runs, in words; empty where it runs in the cluster itself."""
    applications: frozenset[str]
    """Names of the Applications that the spec compiles to, without the root."""
    began: float
    """Second of the watch at which its root was applied."""
    synced_s: float | None = None
    edits: list[EditRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    excuses: list[Excuse] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)


def run(argocd: ArgoCD, specs: Sequence[tuple[str, str]], say: Say) -> list[SyncResult]:
    """Syncs all clusters, then plays edits: all of them on one cluster alone, one on each of several.

    Args:
        argocd: running, with a working copy that holds the specs.
        specs: name and spec file of each cluster, the file relative to the root of the working copy.
        say: takes a line of progress.
    """
    with Watch(argocd.client) as watch:
        lanes = [_bootstrapped(argocd, name, file, watch, say) for name, file in specs]
        _sync(argocd, lanes, watch, say)
        for lane in lanes:
            if lane.synced_s is not None:
                _edit(argocd, lane, watch, say, alone=len(lanes) == 1)
        return [_result(argocd, lane, watch) for lane in lanes]


def _bootstrapped(argocd: ArgoCD, name: str, file: str, watch: Watch, say: Say) -> Lane:
    from gpuc.pipeline.stages import compiled_spec

    say(f"{name}: the README's first sync")
    began = watch.now
    spec = compiled_spec(argocd.repository.root, file)
    argocd.bootstrap(spec)
    applications = frozenset(found.name for found in spec.synced if found.kind == "Application")
    hub = "" if argocd.clusters[name] is argocd.client else "a cluster of its own"
    return Lane(name, file, hub, applications, began, seconds={"bootstrap": watch.now - began})


def _sync(argocd: ArgoCD, lanes: list[Lane], watch: Watch, say: Say) -> None:
    """Waits until every Application is good, and refreshes those that stay Progressing for no reason."""
    started = watch.now
    refreshed: dict[str, float] = {}

    def synced() -> bool:
        argocd.require_alive()
        _refresh_progressing(argocd, watch, refreshed)
        for lane in lanes:
            if lane.synced_s is None and _is_synced(argocd, lane, watch.timeline):
                lane.synced_s = watch.now - lane.began
        good = sum(seen.is_good for seen in watch.timeline.last.values())
        say(f"first sync: {good} of {len(watch.timeline.last)} Applications are good after {watch.now - started:.0f} s")
        return all(lane.synced_s is not None for lane in lanes)

    watch.until(synced, FIRST_SYNC_SECONDS * len(lanes))
    for lane in lanes:
        lane.seconds["first sync"] = watch.now - lane.began
        moment = watch.now
        others = [name for name, seen in watch.timeline.last.items() if seen.cluster != lane.name]
        if lane.synced_s is None:
            lane.failures += unfinished(watch.timeline, moment, others)
        lane.failures += out_of_sync(watch.timeline, moment, others)


def _is_synced(argocd: ArgoCD, lane: Lane, timeline: Timeline) -> bool:
    """Whether every Application of the compiled tree exists and is good, and the root too."""
    last = timeline.last
    own = [seen for seen in last.values() if seen.cluster == lane.name]
    has_root = any(seen.wave is None for seen in own)
    return has_root and lane.applications - argocd.not_rendered.keys() <= last.keys() and all(s.is_good for s in own)


def _refresh_progressing(argocd: ArgoCD, watch: Watch, refreshed: dict[str, float]) -> None:
    for name, seen in watch.timeline.last.items():
        waits = (seen.sync, seen.health, seen.phase) == ("Synced", "Progressing", "Succeeded")
        if waits and watch.now - max(seen.at, refreshed.get(name, 0.0)) > REFRESH_SECONDS:
            refreshed[name] = watch.now
            argocd.refresh(name)


def _edit(argocd: ArgoCD, lane: Lane, watch: Watch, say: Say, *, alone: bool) -> None:
    started = time.monotonic()
    desk = Desk(argocd, lane.name, lane.file, watch, lambda step: say(f"{lane.name}: {step}"))
    lacking = place_static_nodes(desk.client, desk.spec.cluster, STATIC_NODES_SECONDS)
    lane.failures += [
        Failure("unfinished", "", f"NodePool {pool}", words, watch.now) for pool, words in lacking.items()
    ]
    edits = Edits(desk)
    for edit in edits.play() if alone else edits.first():
        lane.edits.append(edit)
    lane.failures += desk.failures
    lane.excuses += edits.excuses
    lane.seconds["edits"] = time.monotonic() - started


def _result(argocd: ArgoCD, lane: Lane, watch: Watch) -> SyncResult:
    moment = watch.now
    own = Timeline(seen for seen in watch.timeline if _is_of(watch.timeline, seen.name, lane.name))
    without = {name: reason for name, reason in argocd.not_rendered.items() if name in lane.applications}
    failures = [*lane.failures, *early_waves(own), *refusals(own, lane.excuses), *standstills(own, moment)]
    failures += late(lane.edits, moment)
    if lane.synced_s is not None:
        failures += [*unfinished(own, moment), *out_of_sync(own, moment)]
    return SyncResult(
        cluster=lane.name,
        file=lane.file,
        hub=lane.hub,
        rows=rows(own, lane.name, lane.began),
        first_sync_s=lane.synced_s,
        restless=restless(own),
        edits=tuple(lane.edits),
        failures=tuple(sorted(dict.fromkeys(failures), key=lambda failure: failure.at)),
        not_rendered=without,
        substitutions=(*SUBSTITUTIONS, HUB_SUBSTITUTION) if lane.hub else SUBSTITUTIONS,
        unjudged=UNJUDGED,
        seconds=lane.seconds,
        memory_mib=sum(argocd.memory_mib().values()),
        kubeconfig=argocd.kubeconfig,
    )


def _is_of(timeline: Timeline, name: str, cluster: str) -> bool:
    return any(seen.cluster == cluster for seen in timeline.of(name))
