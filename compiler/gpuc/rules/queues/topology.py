"""Rules about the topologies of node pools, for example a list of zone and host."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.kubernetes.kueue import LEVEL_LABELS
from gpuc.model import Pool, Queue
from gpuc.rules import Findings, Found, pool_rule, queue_rule
from gpuc.rules.queues.places import amount_path


@queue_rule("KUE108", Severity.WARNING)
def topology_on_some_pools(queue: Queue) -> Findings:
    """A queue has both node pools with a topology and node pools without a topology."""
    for cluster_queue in queue.cluster_queues:
        with_topology = [pool for pool in cluster_queue.pools if pool.spec.topology]
        without_topology = [pool_quota for pool_quota in cluster_queue.pool_quotas if not pool_quota.pool.spec.topology]
        if with_topology and without_topology:
            first, names = without_topology[0], ", ".join(pool.name for pool in with_topology)
            related = [
                Related(f"node pool {pool.name} has a topology", (*pool.path, "topology"), on_key=True)
                for pool in with_topology
            ]
            actual = f"queue {queue.name} has node pool {first.pool.name} without a topology"
            path = amount_path(first.path, first.spec)
            yield Found(path, f"{actual} and {names} with a topology", related=related)


@pool_rule("KUE017")
def topology_out_of_order(pool: Pool) -> Findings:
    """The topology levels of a node pool are not ordered from widest to narrowest, or a level is repeated."""
    levels = pool.spec.topology or []
    expected = [level for level in LEVEL_LABELS if level in levels]
    if levels != expected:
        wrong = next(index for index, level in enumerate(levels) if expected[index : index + 1] != [level])
        message = f"topology of node pool {pool.name} is {', '.join(levels)}; expected {', '.join(expected)}"
        fix = f"set topology of node pool {pool.name} to [{', '.join(expected)}]"
        yield Found((*pool.path, "topology", wrong), message, fix)


@pool_rule("KUE005")
def topology_without_static_nodes(pool: Pool) -> Findings:
    """A node pool has a topology, but is not static."""
    if pool.spec.topology and not pool.is_static:
        words = not_static(f"node pool {pool.name}", f"nodes: {{static: {pool.nodes_max}}}")
        yield Found((*pool.path, "topology"), words)


def not_static(pool: str, expected: str) -> str:
    """Returns the message that a node pool has a topology but is not static; `expected` is the correct value."""
    return f"{pool} has a topology, but is not static; expected {expected}"
