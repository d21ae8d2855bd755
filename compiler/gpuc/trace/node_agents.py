"""The DaemonSets of `nodeAgents` in a spec, as objects. gpuc does not emit them, but their pods need room on nodes."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.kubernetes.amounts import CPU, MEMORY, MIB, texts
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL


def node_agents(cluster: Cluster) -> Iterator[Manifest]:
    """Yields a DaemonSet for each node agent and each pool on which the agent runs.

    The pods tolerate the taints of the pool, but no startup taints: a trace treats a DaemonSet that tolerates a startup
    taint as the agent that removes the taint.
    """
    for pool in cluster.pools:
        for agent in pool.daemonsets:
            if agent.component != "spec":
                continue
            requests = texts({CPU: agent.cpu_milli, MEMORY: agent.memory_mib * MIB})
            pod: Body = {
                "nodeSelector": {POOL_LABEL: pool.name},
                "tolerations": [taint.toleration() for taint in pool.taints],
                "containers": [{"name": agent.name, "resources": {"requests": requests}}],
            }
            body: Body = {"spec": {"template": {"spec": pod}}}
            path = ("spec", "nodeAgents", agent.name)
            yield Manifest("", path, "apps/v1", "DaemonSet", f"{agent.name}-{pool.name}", body, "kube-system")
