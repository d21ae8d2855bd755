"""EFA and huge pages come from pools with the fabric, and from no other pool or queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import MIB, Amounts
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.names import EFA, HUGEPAGES
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.quota import owner
from gpuc.rehearse.scenes import NODES_ACT, Scene
from gpuc.rehearse.scenes.jobs import SMALL, Work
from gpuc.rehearse.scenes.observe import run

STRANGE = "a container asks for a device that no queue of its tenant meters"
"""Words of the policy gpu-resources."""


def scenes(cluster: Cluster) -> Iterator[Scene]:
    """One interface with a GPU on every pool of every queue, and one without a GPU where general pools are."""
    for queue in cluster_queues(cluster):
        for pool in queue.pools:
            piece = dict.fromkeys(pool.gpu_resource_names[:1], 1)
            yield _scene(cluster, queue, pool, SMALL | piece | {EFA: 1}, "one EFA interface")
            if pool.has_efa and HUGEPAGES in pool.node:
                pages = {EFA: pool.node[EFA], HUGEPAGES: pool.node[HUGEPAGES] // (4 * MIB) * 2 * MIB}
                what = "all EFA interfaces and half of the huge pages"
                yield _scene(cluster, queue, pool, SMALL | piece | pages, what)


def _scene(cluster: Cluster, queue: ClusterQueue, pool: Pool, pod: Amounts, what: str) -> Scene:
    request = Request(pod, pool=pool.name)
    answer = expect(cluster, queue, request)
    if answer.verdict == "admitted":
        answer = replace(answer, verdict="complete", nodes=1, borrowed=None)
    elif not _is_metered(cluster, queue) and cluster.policy_stage("gpu-resources") == "deny":
        answer = Outcome("refused", by="policy", words=STRANGE)
    return Scene(
        family="efa",
        name=f"{queue.name} {pool.name} {what}",
        origin=(*pool.path, "fabric") if pool.has_efa else pool.path,
        expected=answer,
        play=partial(run, work=Work(f"efa {queue.name} {pool.name} {what}", queue, request)),
        queue=queue.name,
        pool=pool.name,
        request=what,
        act=NODES_ACT,
        takes=request,
    )


def _is_metered(cluster: Cluster, queue: ClusterQueue) -> bool:
    """Whether any queue of the tenant that submits has the fabric."""
    first = owner(cluster, queue).tenant_names[0]
    tenant = next(each for each in cluster.tenants if each.name == first)
    return any(pool.has_efa for pool in tenant.pools)
