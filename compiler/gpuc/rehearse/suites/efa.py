"""Test cases for EFA interfaces and huge pages, which only pools with EFA offer."""

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
from gpuc.rehearse.suites import NODES_BATCH, Case
from gpuc.rehearse.suites.jobs import SMALL, Work
from gpuc.rehearse.suites.observe import run

UNMETERED_DEVICE = "a container requests a device for which this tenant has no quota"
"""A part of the message of the policy gpu-resources."""


def cases(cluster: Cluster) -> Iterator[Case]:
    """Yields test cases for every ClusterQueue and pool.

    The first test case requests one EFA interface, and one GPU of a GPU pool. The second test case requests all EFA
    interfaces and half of the huge pages of a pool that has both.
    """
    for queue in cluster_queues(cluster):
        for pool in queue.pools:
            gpu = dict.fromkeys(pool.gpu_resource_names[:1], 1)
            yield _case(cluster, queue, pool, SMALL | gpu | {EFA: 1}, "one EFA interface")
            if pool.has_efa and HUGEPAGES in pool.node:
                pages = {EFA: pool.node[EFA], HUGEPAGES: pool.node[HUGEPAGES] // (4 * MIB) * 2 * MIB}
                description = "all EFA interfaces and half of the huge pages"
                yield _case(cluster, queue, pool, SMALL | gpu | pages, description)


def _case(cluster: Cluster, queue: ClusterQueue, pool: Pool, pod: Amounts, description: str) -> Case:
    request = Request(pod, pool=pool.name)
    expected = expect(cluster, queue, request)
    if expected.verdict == "admitted":
        expected = replace(expected, verdict="complete", nodes=1, borrowed=None)
    elif not _has_efa_quota(cluster, queue) and cluster.policy_stage("gpu-resources") == "deny":
        expected = Outcome("refused", by="policy", message=UNMETERED_DEVICE)
    return Case(
        suite="efa",
        name=f"{queue.name} {pool.name} {description}",
        origin=(*pool.path, "fabric") if pool.has_efa else pool.path,
        expected=expected,
        action=partial(run, work=Work(f"efa {queue.name} {pool.name} {description}", queue, request)),
        queue=queue.name,
        pool=pool.name,
        request=description,
        batch=NODES_BATCH,
        demand=request,
    )


def _has_efa_quota(cluster: Cluster, queue: ClusterQueue) -> bool:
    """Returns whether a ClusterQueue of the submitting tenant has quota for EFA."""
    first = owner(cluster, queue).tenant_names[0]
    tenant = next(tenant for tenant in cluster.tenants if tenant.name == first)
    return any(pool.has_efa for pool in tenant.pools)
