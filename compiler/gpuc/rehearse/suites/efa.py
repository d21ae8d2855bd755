"""Test cases for EFA interfaces and huge pages, which only pools with EFA offer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gpuc.kubernetes.amounts import MIB, Amounts
from gpuc.model import ClusterQueue, Pool
from gpuc.model.names import EFA, HUGEPAGES
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.expectation import cluster_queues, expect, predict
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.suites import NODES_BATCH, Case
from gpuc.rehearse.suites.jobs import SMALL, Work, job_of
from gpuc.rehearse.suites.observe import run

UNMETERED_DEVICE = "a container requests a device for which this tenant has no quota"
"""A part of the message of the policy gpu-resources."""


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields test cases for every ClusterQueue and pool.

    The first test case requests one EFA interface, and one GPU of a GPU pool. The second test case requests all EFA
    interfaces and half of the huge pages of a pool that has both.
    """
    for queue in cluster_queues(spec.cluster):
        for pool in queue.pools:
            gpu = dict.fromkeys(pool.gpu_resource_names[:1], 1)
            yield _case(spec, queue, pool, SMALL | gpu | {EFA: 1}, "one EFA interface")
            if pool.has_efa and HUGEPAGES in pool.node:
                pages = {EFA: pool.node[EFA], HUGEPAGES: pool.node[HUGEPAGES] // (4 * MIB) * 2 * MIB}
                description = "all EFA interfaces and half of the huge pages"
                yield _case(spec, queue, pool, SMALL | gpu | pages, description)


def _case(spec: CompiledSpec, queue: ClusterQueue, pool: Pool, pod: Amounts, description: str) -> Case:
    request = Request(pod, pool=pool.name)
    work = Work(f"efa {queue.name} {pool.name} {description}", queue, request)
    expected = expect(spec, queue, request)
    if expected.verdict == "admitted":
        expected = replace(expected, verdict="complete", nodes=1, borrowed=None)
    elif predict(spec, job_of(spec.cluster, work), policies=True).by == "policy":
        expected = Outcome("refused", by="policy", message=UNMETERED_DEVICE)
    return Case(
        suite="efa",
        name=f"{queue.name} {pool.name} {description}",
        origin=(*pool.path, "fabric") if pool.has_efa else pool.path,
        expected=expected,
        action=partial(run, work=work),
        queue=queue.name,
        pool=pool.name,
        request=description,
        batch=NODES_BATCH,
        demand=request,
    )
