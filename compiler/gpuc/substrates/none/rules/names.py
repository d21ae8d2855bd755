"""The names and the number of the nodes of a pool."""

from gpuc.diagnostics.finding import Related
from gpuc.diagnostics.words import counted
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.none.section import machines


@pool_rule("NOD002")
def pool_without_nodes(pool: Pool) -> Findings:
    """A pool of existing nodes names no node."""
    if not machines(pool.spec).names:
        message = f"node pool {pool.name} has no node; expected machines such as {{names: [gpu-a01, gpu-a02]}}"
        yield Found((*pool.path, "machines"), message, on_key=True)


@pool_rule("NOD003")
def growing_pool(pool: Pool) -> Findings:
    """A pool of existing nodes has a minimum or a maximum instead of a constant number of nodes."""
    names = set(machines(pool.spec).names)
    for key in ("min", "max"):
        if getattr(pool.spec.nodes, key) is not None:
            message = f"node pool {pool.name} has nodes.{key}; expected nodes.static, because nothing starts a node"
            fix = f"write nodes: {{static: {len(names)}}}" if names else ""
            yield Found((*pool.path, "nodes", key), message, fix, on_key=True)


@pool_rule("NOD004")
def other_number_of_nodes(pool: Pool) -> Findings:
    """The number of nodes of a pool differs from the number of their names."""
    names, static = set(machines(pool.spec).names), pool.spec.nodes.static
    if names and static is not None and static != len(names):
        message = f"nodes.static of node pool {pool.name} is {static}, but machines has {counted(len(names), 'name')}"
        related = [Related("the names", (*pool.path, "machines", "names"), on_key=True)]
        yield Found((*pool.path, "nodes", "static"), f"{message}; expected {len(names)}, or other names", "", related)


@rule("NOD005")
def node_of_two_pools(cluster: Cluster) -> Findings:
    """A node is in two pools."""
    earlier: dict[str, Pool] = {}
    for pool in cluster.pools:
        for index, name in enumerate(machines(pool.spec).names):
            first = earlier.setdefault(name, pool)
            if first is not pool:
                place = (*first.path, "machines", "names", machines(first.spec).names.index(name))
                message = f"node {name} is in node pool {first.name} and in node pool {pool.name}; expected one pool"
                related = [Related(f"the node in node pool {first.name}", place)]
                yield Found((*pool.path, "machines", "names", index), message, related=related)


@pool_rule("NOD006")
def several_server_types(pool: Pool) -> Findings:
    """A pool of existing nodes has several types of servers."""
    if len(pool.instances) > 1:
        types = ", ".join(instance.type for instance in pool.instances)
        message = f"node pool {pool.name} has the servers {types}; expected one type, and a pool for each other type"
        yield Found((*pool.path, "instances"), message, on_key=True)
