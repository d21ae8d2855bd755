"""Random gangs for a cluster, with sensible and with impossible requests."""

from hypothesis import strategies as st

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.names import EFA, HUGEPAGES
from gpuc_rehearsal.expectation import cluster_queues
from gpuc_rehearsal.outcome import Request

MAX_PODS = 400
"""Maximal number of pods in a gang."""
PAGE = 2 * MIB
SIZES = ("tiny", "tiny", "eighth", "half", "full", "beyond", "any")
"""The part of a node that a pod requests. "tiny" is listed twice, so that GPUs limit the gangs more often."""


@st.composite
def requests(draw: st.DrawFn, cluster: Cluster) -> tuple[ClusterQueue, Request]:
    """Draws a queue and a gang. The gang requests resources of a pool of the queue, and rarely of another pool."""
    queue = draw(st.sampled_from(list(cluster_queues(cluster))))
    pool = draw(st.sampled_from(queue.pools))
    selected = draw(st.sampled_from(["", "", pool.name, pool.name, draw(st.sampled_from(cluster.pools)).name]))
    pod = _machine_resources(draw, pool) | _devices(draw, cluster, pool)
    pods = draw(_gang(queue, pool, pod))
    one_block = "block" in (pool.spec.topology or ()) and draw(st.booleans())
    return queue, Request(pod, pods, selected, one_block)


def _machine_resources(draw: st.DrawFn, pool: Pool) -> Amounts:
    units = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
    asked = {name: _size(draw, pool.node[name] // unit) * unit for name, unit in units.items()}
    if draw(st.integers(0, 3)):
        asked.pop(EPHEMERAL_STORAGE)
    return asked


def _size(draw: st.DrawFn, node: int) -> int:
    size = draw(st.sampled_from(SIZES))
    sizes = {"tiny": 1, "eighth": node // 8, "half": node // 2, "full": node, "beyond": node + 1}
    return sizes[size] if size in sizes else draw(st.integers(1, node * 5 // 4))


def _devices(draw: st.DrawFn, cluster: Cluster, pool: Pool) -> Amounts:
    """GPUs, slices or shares; EFA and huge pages, rarely also for pools without EFA."""
    devices: Amounts = {}
    names = list(pool.gpu_resource_names)
    if not draw(st.integers(0, 9)):
        names = sorted({name for other in cluster.pools for name in other.gpu_resource_names})
    if names:
        for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
            devices[name] = draw(st.integers(1, pool.node.get(name, 1) + 1))
    if EFA in pool.node and draw(st.booleans()):
        devices[EFA] = draw(st.integers(1, pool.node[EFA] + 1))
    elif not draw(st.integers(0, 15)):
        devices[EFA] = 1
    if HUGEPAGES in pool.node and draw(st.booleans()):
        devices[HUGEPAGES] = draw(st.integers(1, pool.node[HUGEPAGES] // PAGE + 1)) * PAGE
    return devices


def _gang(queue: ClusterQueue, pool: Pool, pod: Amounts) -> st.SearchStrategy[int]:
    """One pod, a few pods, or about as many pods as the nominal quota of the queue allows."""
    pool_quota = next(pool_quota for pool_quota in queue.pool_quotas if pool_quota.pool is pool)
    fitting = min(pool_quota.nominal[name] // amount for name, amount in pod.items() if pool_quota.nominal.get(name))
    edge = min(max(1, fitting), MAX_PODS - 1)
    return st.one_of(st.just(1), st.integers(1, 6), st.just(edge), st.just(edge + 1))
