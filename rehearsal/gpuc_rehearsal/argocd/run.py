"""Runs the first sync of the clusters with Argo CD, then the checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cluster.application import applications
from gpuc.documents.reader import load_yaml
from gpuc.model.names import SYSTEM_TAINT
from gpuc.pipeline.stages import compiled_spec
from gpuc_rehearsal.apply import measured
from gpuc_rehearsal.argocd.checks import (
    Failure,
    blocked_operations,
    early_waves,
    out_of_sync,
    pending_pods,
    refusals,
    unfinished,
)
from gpuc_rehearsal.argocd.cluster import SYSTEM_NODES
from gpuc_rehearsal.argocd.processes import RESYNC_SECONDS
from gpuc_rehearsal.argocd.result import SyncResult, application_rows
from gpuc_rehearsal.argocd.timeline import State, Timeline, Watch
from gpuc_rehearsal.autoscaler import autoscalers
from gpuc_rehearsal.health import place_static_nodes

if TYPE_CHECKING:
    from gpuc_rehearsal.argocd.hub import ArgoCD

FIRST_SYNC_SECONDS = 1800
"""Limit for the first sync of one cluster. On two cores shared with six other processes, the slowest took 704 s."""
STATIC_NODES_SECONDS = 300
REFRESH_SECONDS = 30
"""An Application that is Synced but Progressing for more seconds is refreshed, as the cluster's README advises,
because Argo CD does not notice when a CustomResourceDefinition becomes established."""

SENTENCES: dict[str, list[str]] = load_yaml(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8"))
"""Sentences about simulated and untested parts for every report, by key."""
Progress = Callable[[str], None]


@dataclass
class ClusterRun:
    """Results of one cluster that a run of Argo CD has recorded so far; `_result` converts them to a SyncResult."""

    name: str
    file: str
    hub: str
    """Where Argo CD runs. Empty if Argo CD runs in this cluster."""
    applications: frozenset[str]
    """Names of the compiled Applications, without the root Application."""
    began: float
    """When the root Application was applied, in seconds since the start of the watch."""
    synced_s: float | None = None
    """Seconds from `began` until all Applications were good (State.is_good), or None."""
    failures: list[Failure] = field(default_factory=list)
    is_expected: Callable[[State], bool] = lambda state: False
    """Returns whether refusals of an Application in a state are no failures, because an edit made an object invalid."""
    seconds: dict[str, float] = field(default_factory=dict)


Edit = Callable[["ArgoCD", ClusterRun, Watch, Progress], None]
"""A function that edits a cluster, and records failures in its run."""


def rehearse(
    argocd: ArgoCD, specs: Sequence[tuple[str, str]], progress: Progress, edit: Edit | None = None
) -> list[SyncResult]:
    """Syncs all clusters, and returns the results in the order of the specs.

    Args:
        specs: (name, spec file) of each cluster. The file is relative to the root of the working copy.
        edit: edits a cluster after its first sync.
    """
    with Watch(argocd.client, [name for name, _ in specs]) as watch:
        cluster_runs = [_bootstrap(argocd, name, file, watch, progress) for name, file in specs]
        _sync(argocd, cluster_runs, watch, progress)
        for cluster_run in cluster_runs:
            if cluster_run.synced_s is not None:
                _place_nodes(argocd, cluster_run, watch)
                if edit is not None:
                    with measured(cluster_run.seconds, "edits"):
                        edit(argocd, cluster_run, watch, progress)
        return [_result(argocd, cluster_run, watch) for cluster_run in cluster_runs]


def _bootstrap(argocd: ArgoCD, name: str, file: str, watch: Watch, progress: Progress) -> ClusterRun:
    progress(f"{name}: first sync as in the README")
    began = watch.now
    spec = compiled_spec(argocd.repository.root, file)
    argocd.bootstrap(spec)
    names = frozenset(application.name for application in applications(spec.synced))
    hub = "" if argocd.clusters[name] is argocd.client else "a separate cluster"
    return ClusterRun(name, file, hub, names, began, seconds={"bootstrap": watch.now - began})


def _sync(argocd: ArgoCD, cluster_runs: list[ClusterRun], watch: Watch, progress: Progress) -> None:
    """Waits until all Applications are good (State.is_good). Refreshes Applications that remain Progressing."""
    started = watch.now
    refreshed: dict[str, float] = {}

    def synced() -> bool:
        argocd.require_alive()
        _refresh_progressing(argocd, watch, refreshed)
        for cluster_run in cluster_runs:
            if cluster_run.synced_s is None and _is_synced(argocd, cluster_run, watch.timeline):
                cluster_run.synced_s = watch.now - cluster_run.began
        states = watch.timeline.last.values()
        good = sum(state.is_good for state in states)
        counts = f"{good} of {len(states)} Applications are Synced and Healthy"
        progress(f"first sync: {counts} after {watch.now - started:.0f} s")
        return all(cluster_run.synced_s is not None for cluster_run in cluster_runs)

    watch.until(synced, FIRST_SYNC_SECONDS * len(cluster_runs))
    for cluster_run in cluster_runs:
        cluster_run.seconds["first sync"] = watch.now - cluster_run.began
        moment, own = watch.now, watch.timeline.of_cluster(cluster_run.name)
        if cluster_run.synced_s is None:
            pods = argocd.clusters[cluster_run.name].list_all("v1", "Pod")
            cluster_run.failures += [*unfinished(own, moment), *pending_pods(pods, moment)]
        cluster_run.failures += out_of_sync(own, moment)


def _is_synced(argocd: ArgoCD, cluster_run: ClusterRun, timeline: Timeline) -> bool:
    """Returns whether the root Application and every rendered Application exist and are good (State.is_good)."""
    last = timeline.last
    own = [state for state in last.values() if state.cluster == cluster_run.name]
    has_root = any(state.wave is None for state in own)
    expected = cluster_run.applications - argocd.not_rendered.keys()
    return has_root and expected <= last.keys() and all(state.is_good for state in own)


def _refresh_progressing(argocd: ArgoCD, watch: Watch, refreshed: dict[str, float]) -> None:
    for name, state in watch.timeline.last.items():
        is_stuck = (state.sync, state.health, state.phase) == ("Synced", "Progressing", "Succeeded")
        if is_stuck and watch.now - max(state.at, refreshed.get(name, 0.0)) > REFRESH_SECONDS:
            refreshed[name] = watch.now
            argocd.refresh(name)


def _place_nodes(argocd: ArgoCD, cluster_run: ClusterRun, watch: Watch) -> None:
    """Waits for the nodes that always run, and records a failure for each pool with too few nodes."""
    spec = compiled_spec(argocd.repository.root, cluster_run.file)
    missing = place_static_nodes(argocd.clusters[cluster_run.name], spec.cluster, STATIC_NODES_SECONDS)
    cluster_run.failures += [
        Failure("unfinished", "", f"NodePool {pool}", message, watch.now) for pool, message in missing.items()
    ]


def _result(argocd: ArgoCD, cluster_run: ClusterRun, watch: Watch) -> SyncResult:
    moment, own = watch.now, watch.timeline.of_cluster(cluster_run.name)
    not_rendered = {name: reason for name, reason in argocd.not_rendered.items() if name in cluster_run.applications}
    early, regressions = early_waves(own)
    failures = [*cluster_run.failures, *early, *blocked_operations(own, moment)]
    failures += refusals(state for state in own if not cluster_run.is_expected(state))
    if cluster_run.synced_s is not None:
        failures += [*unfinished(own, moment), *out_of_sync(own, moment)]
    return SyncResult(
        cluster=cluster_run.name,
        file=cluster_run.file,
        hub=cluster_run.hub,
        rows=application_rows(own, cluster_run.began),
        first_sync_s=cluster_run.synced_s,
        regressions=regressions,
        failures=tuple(sorted(dict.fromkeys(failures), key=lambda failure: failure.at)),
        not_rendered=not_rendered,
        substitutions=tuple(_substitutions(cluster_run)),
        not_tested=tuple(SENTENCES["not_tested"]),
        seconds=cluster_run.seconds,
        memory_mib=argocd.memory_mib(),
        kubeconfig=argocd.kubeconfig,
    )


def _substitutions(cluster_run: ClusterRun) -> Iterator[str]:
    simulated = ", ".join(autoscaler.simulated_class for autoscaler in autoscalers())
    known = {"system_nodes": SYSTEM_NODES, "system_taint": SYSTEM_TAINT, "simulated_class": simulated}
    for key in ("substitutions", "substitutions_of_hub") if cluster_run.hub else ("substitutions",):
        yield from (sentence.format(resync_seconds=RESYNC_SECONDS, **known) for sentence in SENTENCES[key])
