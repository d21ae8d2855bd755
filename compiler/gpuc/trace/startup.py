"""Startup taints: taints that an agent has to remove from a node before pods start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import STARTUP_TAINTS
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.startup_agents import agent_of
from gpuc.kubernetes.toleration import Taint, untolerated
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.rooms import accepts
from gpuc.trace.steps import Stage, Step


def removing_agent(cluster: ClusterIndex, pool: Pool, taint: Taint) -> str:
    """Returns the agent that removes a startup taint: a known agent, or a DaemonSet that tolerates the taint.

    Returns an empty string if the input has no such agent.
    """
    if known := agent_of(taint.key):
        return known
    for pods in cluster.daemonsets:
        if accepts(pool, pods) and untolerated((taint, *pool.taints), pods.tolerations) is None:
            return str(pods.manifest)
    return ""


def startup_step(cluster: ClusterIndex, pool: Pool, pods: str) -> Iterator[Step]:
    """Checks that agents remove the startup taints of a pool; yields no step for a pool without startup taints.

    Args:
        pods: the name of the pod set.
    """
    removals = []
    for taint in (taint for taint in pool.startup_taints if taint.keeps_off):
        agent = removing_agent(cluster, pool, taint)
        if not agent:
            message = f"no DaemonSet tolerates the startup taint {taint}, so no agent can remove it"
            path: Path = (*STARTUP_TAINTS, taint.index)
            verdict: Literal["failed", "unknown"] = "failed" if cluster.objects.is_complete else "unknown"
            yield Step(Stage.STARTUP, verdict, message, pool.manifest, path, pods)
            return
        removals.append(f"{agent} removes {taint}")
    if removals:
        yield Step(Stage.STARTUP, "passed", "; ".join(removals), pool.manifest, STARTUP_TAINTS, pods)
