"""Waits until Argo CD has synced all clusters for the first time, then checks the states of the Applications."""

from collections.abc import Callable, Iterator, Sequence
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
from gpuc_rehearsal.argocd.hub import RESYNC_SECONDS
from gpuc_rehearsal.argocd.result import SyncResult, application_rows
from gpuc_rehearsal.argocd.timeline import Timeline, Watch
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


Edit = Callable[["ArgoCD", SyncResult, Watch, Progress], None]
"""A function that edits a cluster, and records failures in its run."""


def rehearse(
    argocd: "ArgoCD", specs: Sequence[tuple[str, str]], progress: Progress, edit: Edit | None = None
) -> list[SyncResult]:
    """Syncs all clusters with Argo CD, and returns their results in the order of the specs.

    Args:
        specs: the name and the spec file of each cluster. The file is relative to the root of the fleet.
        edit: a function that gpuc calls for each cluster after its first sync, for example to edit files of the fleet.
    """
    with Watch(argocd.client, [name for name, _ in specs]) as watch:
        results = [_bootstrap(argocd, name, file, watch, progress) for name, file in specs]
        _sync(argocd, results, watch, progress)
        for result in results:
            if result.first_sync_s is not None:
                cluster = compiled_spec(argocd.repository.root, result.file).cluster
                missing = place_static_nodes(argocd.clusters[result.cluster], cluster, STATIC_NODES_SECONDS)
                for pool, message in missing.items():
                    result.failures.append(Failure("unfinished", "", f"NodePool {pool}", message, watch.now))
                if edit is not None:
                    with measured(result.seconds, "edits"):
                        edit(argocd, result, watch, progress)
        return [_finish(argocd, result, watch) for result in results]


def _bootstrap(argocd: "ArgoCD", name: str, file: str, watch: Watch, progress: Progress) -> SyncResult:
    progress(f"{name}: first sync as in the README")
    began = watch.now
    spec = compiled_spec(argocd.repository.root, file)
    argocd.bootstrap(spec)
    names = frozenset(application.name for application in applications(spec.synced))
    hub = "" if argocd.clusters[name] is argocd.client else "a separate cluster"
    return SyncResult(name, file, hub, names, began, seconds={"bootstrap": watch.now - began})


def _sync(argocd: "ArgoCD", results: list[SyncResult], watch: Watch, progress: Progress) -> None:
    """Waits until all Applications are good (State.is_good). Refreshes Applications that remain Progressing."""
    started = watch.now
    refreshed: dict[str, float] = {}

    def synced() -> bool:
        argocd.require_alive()
        for name, state in watch.timeline.last.items():
            is_stuck = (state.sync, state.health, state.phase) == ("Synced", "Progressing", "Succeeded")
            if is_stuck and watch.now - max(state.at, refreshed.get(name, 0.0)) > REFRESH_SECONDS:
                refreshed[name] = watch.now
                argocd.refresh(name)
        for result in results:
            if result.first_sync_s is None and _is_synced(argocd, result, watch.timeline):
                result.first_sync_s = watch.now - result.began
        states = watch.timeline.last.values()
        good = sum(state.is_good for state in states)
        counts = f"{good} of {len(states)} Applications are Synced and Healthy"
        progress(f"first sync: {counts} after {watch.now - started:.0f} s")
        return all(result.first_sync_s is not None for result in results)

    watch.until(synced, FIRST_SYNC_SECONDS * len(results))
    for result in results:
        result.seconds["first sync"] = watch.now - result.began
        moment, own = watch.now, watch.timeline.of_cluster(result.cluster)
        if result.first_sync_s is None:
            pods = argocd.clusters[result.cluster].list_all("v1", "Pod")
            result.failures += [*unfinished(own, moment), *pending_pods(pods, moment)]
        result.failures += out_of_sync(own, moment)


def _is_synced(argocd: "ArgoCD", result: SyncResult, timeline: Timeline) -> bool:
    """Returns whether the root Application and every rendered Application exist and are good (State.is_good)."""
    last = timeline.last
    own = [state for state in last.values() if state.cluster == result.cluster]
    has_root = any(state.wave is None for state in own)
    expected = result.names - argocd.not_rendered.keys()
    return has_root and expected <= last.keys() and all(state.is_good for state in own)


def _finish(argocd: "ArgoCD", result: SyncResult, watch: Watch) -> SyncResult:
    """Completes a result at the end of the run."""
    moment, own = watch.now, watch.timeline.of_cluster(result.cluster)
    early, result.regressions = early_waves(own)
    failures = [*result.failures, *early, *blocked_operations(own, moment)]
    failures += refusals(state for state in own if not result.is_expected(state))
    if result.first_sync_s is not None:
        failures += [*unfinished(own, moment), *out_of_sync(own, moment)]
    result.failures = sorted(dict.fromkeys(failures), key=lambda failure: failure.at)
    result.rows = application_rows(own, result.began)
    result.not_rendered = {name: reason for name, reason in argocd.not_rendered.items() if name in result.names}
    result.substitutions, result.not_tested = tuple(_substitutions(result)), tuple(SENTENCES["not_tested"])
    result.memory_mib, result.kubeconfig = argocd.memory_mib(), argocd.kubeconfig
    return result


def _substitutions(result: SyncResult) -> Iterator[str]:
    simulated = ", ".join(autoscaler.simulated_class for autoscaler in autoscalers())
    known = {"system_nodes": SYSTEM_NODES, "system_taint": SYSTEM_TAINT, "simulated_class": simulated}
    for key in ("substitutions", "substitutions_of_hub") if result.hub else ("substitutions",):
        yield from (sentence.format(resync_seconds=RESYNC_SECONDS, **known) for sentence in SENTENCES[key])
