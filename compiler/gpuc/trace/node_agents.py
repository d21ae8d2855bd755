"""Makes DaemonSet objects from the key `nodeAgents` of a spec, which lists DaemonSets that other teams install.

gpuc does not emit these DaemonSets, but their pods need resources of the nodes.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from msgspec.structs import replace

from gpuc.catalog.records import NODE_AGENT
from gpuc.kubernetes.amounts import texts
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.trace.cluster_index import ClusterIndex


def node_agents(cluster: Cluster) -> Iterator[Manifest]:
    """Yields a DaemonSet for each entry of `nodeAgents` and each pool on which the agent runs.

    The pods tolerate the taints of the pool, but no startup taints: a trace treats a DaemonSet that tolerates a startup
    taint as the agent that removes the taint.
    """
    for pool in cluster.pools:
        for agent in pool.daemonsets:
            if agent.component != NODE_AGENT:
                continue
            requests = texts(agent.requests)
            pod: Body = {
                "nodeSelector": {POOL_LABEL: pool.name},
                "tolerations": [taint.toleration() for taint in pool.taints],
                "containers": [{"name": agent.name, "resources": {"requests": requests}}],
            }
            body: Body = {"spec": {"template": {"spec": pod}}}
            path = ("spec", "nodeAgents", agent.name)
            yield Manifest("", path, "apps/v1", "DaemonSet", f"{agent.name}-{pool.name}", body, "kube-system")


def index_of(
    cluster: Cluster,
    synced: Iterable[Manifest],
    values: Mapping[str, Any],
    domain_nodes: Mapping[str, int] | None = None,
) -> ClusterIndex:
    """Returns an index of all objects of a cluster for traces. The index includes the DaemonSets of `nodeAgents`.

    Args:
        values: the Helm values by chart.
        domain_nodes: as for ClusterIndex.
    """
    manifests = [*without_agent_requests(cluster, synced), *node_agents(cluster)]
    objects = ObjectSet(manifests, is_complete=True, values=values, catalog=cluster.catalog)
    return ClusterIndex(objects, domain_nodes, cluster.controller_accounts)


def without_agent_requests(cluster: Cluster, synced: Iterable[Manifest]) -> list[Manifest]:
    """Returns the objects of a cluster. DaemonSets that `nodeAgents` also names have no resource requests.

    The manifests of a spec can contain such a DaemonSet. The requests in `nodeAgents` already count, and the requests
    of the DaemonSet must not count in addition.
    """
    agents = cluster.spec.node_agents
    return [
        _without_requests(manifest) if manifest.kind == "DaemonSet" and manifest.name in agents else manifest
        for manifest in synced
    ]


def _without_requests(daemon_set: Manifest) -> Manifest:
    body = deepcopy(daemon_set.body)
    for _, container in items(dig(body, "spec", "template", "spec", "containers")):
        container.pop("resources", None)
    return replace(daemon_set, body=body, written=None)
