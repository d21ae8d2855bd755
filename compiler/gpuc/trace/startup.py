"""Startup taints: somebody has to take them away before the first pod starts."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.startup_agents import agent_of
from gpuc.kubernetes.toleration import Taint, untolerated
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.pools import NodePool
from gpuc.trace.steps import Stage, Step

_TAINTS: Path = ("spec", "template", "spec", "startupTaints")


def remover(site: ClusterIndex, pool: NodePool, taint: Taint) -> str:
    """Who takes a startup taint away: a known agent, or a DaemonSet that runs behind it; empty for nobody."""
    if known := agent_of(taint.key):
        return known
    for pods in site.daemonsets:
        if pool.lets_in(pods) and untolerated((taint, *pool.taints), pods.tolerations) is None:
            return str(pods.manifest)
    return ""


def startup_step(site: ClusterIndex, pool: NodePool, pods: str) -> Iterator[Step]:
    """Whether somebody takes the startup taints of a pool away; no step where it has none."""
    told = []
    for taint in (taint for taint in pool.startup_taints if taint.keeps_off):
        who = remover(site, pool, taint)
        path: Path = (*_TAINTS, taint.index)
        if not who:
            message = f"no DaemonSet of the tree runs behind the startup taint {taint} to take it away"
            yield Step(
                Stage.STARTUP, "failed" if site.tree.is_complete else "not judged", message, pool.manifest, path, pods
            )
            return
        told.append(f"{taint} goes by {who}")
    if told:
        yield Step(Stage.STARTUP, "passed", "; ".join(told), pool.manifest, _TAINTS, pods)
