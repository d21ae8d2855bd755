"""Random work for a cluster: what people ask for, sensible or not."""

from __future__ import annotations

from hypothesis import strategies as st

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model import Cluster, ClusterQueue, Pool
from gpuc.model.names import EFA, HUGEPAGES
from gpuc.rehearse.expectation import cluster_queues
from gpuc.rehearse.outcome import Request

PODS_MAX = 400
"""More pods than this in one gang are not made."""
PAGE = 2 * MIB
SIZES = ("tiny", "tiny", "eighth", "half", "whole", "beyond", "any")
"""How much of a node a pod asks for: twice as often almost nothing, so that GPUs decide."""


@st.composite
def requests(draw: st.DrawFn, cluster: Cluster) -> tuple[ClusterQueue, Request]:
    """A queue and a gang for it: of the resources of one of its pools, rarely of another's."""
    queue = draw(st.sampled_from(list(cluster_queues(cluster))))
    pool = draw(st.sampled_from(queue.pools))
    selected = draw(st.sampled_from(["", "", pool.name, pool.name, draw(st.sampled_from(cluster.pools)).name]))
    pod = _machine(draw, pool) | _pieces(draw, cluster, pool)
    pods = draw(_gang(queue, pool, pod))
    one_block = "block" in (pool.spec.topology or ()) and draw(st.booleans())
    return queue, Request(pod, pods, selected, one_block)


def _machine(draw: st.DrawFn, pool: Pool) -> Amounts:
    units = {CPU: 1, MEMORY: MIB, EPHEMERAL_STORAGE: MIB}
    asked = {name: _size(draw, pool.node[name] // unit) * unit for name, unit in units.items()}
    if draw(st.integers(0, 3)):
        asked.pop(EPHEMERAL_STORAGE)
    return asked


def _size(draw: st.DrawFn, node: int) -> int:
    size = draw(st.sampled_from(SIZES))
    sizes = {"tiny": 1, "eighth": node // 8, "half": node // 2, "whole": node, "beyond": node + 1}
    return sizes[size] if size in sizes else draw(st.integers(1, node * 5 // 4))


def _pieces(draw: st.DrawFn, cluster: Cluster, pool: Pool) -> Amounts:
    """GPUs, slices or shares, perhaps of two kinds; EFA and huge pages, rarely where there are none."""
    pieces: Amounts = {}
    names = list(pool.gpu_resource_names)
    if not draw(st.integers(0, 9)):
        names = sorted({name for each in cluster.pools for name in each.gpu_resource_names})
    if names:
        for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
            pieces[name] = draw(st.integers(1, pool.node.get(name, 1) + 1))
    if EFA in pool.node and draw(st.booleans()):
        pieces[EFA] = draw(st.integers(1, pool.node[EFA] + 1))
    elif not draw(st.integers(0, 15)):
        pieces[EFA] = 1
    if HUGEPAGES in pool.node and draw(st.booleans()):
        pieces[HUGEPAGES] = draw(st.integers(1, pool.node[HUGEPAGES] // PAGE + 1)) * PAGE
    return pieces


def _gang(queue: ClusterQueue, pool: Pool, pod: Amounts) -> st.SearchStrategy[int]:
    """One pod, a few, or about as many as the queue's own quota carries."""
    share = next(each for each in queue.shares if each.pool is pool)
    own = min(share.nominal[name] // amount for name, amount in pod.items() if share.nominal.get(name))
    edge = min(max(1, own), PODS_MAX - 1)
    return st.one_of(st.just(1), st.integers(1, 6), st.just(edge), st.just(edge + 1))
