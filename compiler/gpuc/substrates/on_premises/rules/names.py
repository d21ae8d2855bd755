"""Rules about the names and the number of the nodes of a pool, and about the racks of the nodes."""

from gpuc.diagnostics.finding import Related, Severity
from gpuc.diagnostics.words import counted, kind_of
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.on_premises.node_names import all_names, expanded
from gpuc.substrates.on_premises.section import SECTIONS, by_rack, machines, racks

RACKS = ("spec", "cloud", SECTIONS.name, "racks")
_MOST = 3


@pool_rule("NOD002")
def pool_without_nodes(pool: Pool) -> Findings:
    """A pool of existing nodes names no node."""
    if not machines(pool.spec).names:
        message = f"node pool {pool.name} names no node; expected machines such as {{names: [gpu-a01, gpu-a02]}}"
        yield Found((*pool.path, *pool.spec.model_fields_set & {"machines"}), message, on_key=True)


@pool_rule("NOD003")
def number_of_existing_nodes(pool: Pool) -> Findings:
    """A pool of existing nodes sets a number of nodes, although it names its nodes."""
    if "nodes" in pool.spec.model_fields_set and machines(pool.spec).names:
        names = counted(len(machines(pool.spec).nodes), "node")
        actual = f"node pool {pool.name} has the key nodes, but machines.names already lists its {names}"
        fix = f"remove the key nodes from node pool {pool.name}"
        yield Found((*pool.path, "nodes"), f"{actual}; expected no key nodes", fix, on_key=True)


@pool_rule("NOD004")
def spares_leave_no_node(pool: Pool) -> Findings:
    """All nodes of a pool are spares or excluded, so no node is left for quotas."""
    section = machines(pool.spec)
    if section.names and pool.promised_nodes < 1:
        count = f"{section.spares} ({counted(pool.spares, 'node')})" if isinstance(section.spares, str) else pool.spares
        actual = f"spares of node pool {pool.name} is {count}, but it has {counted(pool.nodes_max, 'node')} for pods"
        key = "spares" if pool.spares else "excluded"
        message = f"{actual}; expected at most {max(0, pool.nodes_max - 1)}, because quotas need at least 1 other node"
        yield Found((*pool.path, "machines", key), message, on_key=key == "excluded")


@rule("NOD005")
def node_of_two_pools(cluster: Cluster) -> Findings:
    """A node is in two pools."""
    earlier: dict[str, tuple[Pool, int]] = {}
    for pool in cluster.pools:
        reported: set[tuple[str, int]] = set()
        for name, index in all_names(machines(pool.spec).names).items():
            first, place = earlier.setdefault(name, (pool, index))
            if first is not pool and (first.name, index) not in reported:
                reported.add((first.name, index))
                message = f"node {name} is in node pool {first.name} and in node pool {pool.name}; expected one pool"
                related = [Related(f"the node in node pool {first.name}", (*first.names_path, place))]
                yield Found((*pool.names_path, index), message, related=related)


@pool_rule("NOD006")
def several_server_types(pool: Pool) -> Findings:
    """A pool of existing nodes has several types of servers."""
    if len(pool.instances) > 1:
        types = ", ".join(instance.type for instance in pool.instances)
        message = f"node pool {pool.name} has the servers {types}; expected one type, and a pool for each other type"
        yield Found((*pool.path, "instances"), message, on_key=True)


@pool_rule("NOD015")
def node_named_twice(pool: Pool) -> Findings:
    """Two entries in the names of a pool mean the same node."""
    seen: dict[str, int] = {}
    names = machines(pool.spec).names
    for index, text in enumerate(names):
        again = [name for name in expanded(text) if name in seen]
        if again and text not in names[:index]:
            message = f"{text} in node pool {pool.name} lists {kind_of(again[:_MOST], 'node')} again"
            related = [Related("named here", (*pool.names_path, seen[again[0]]))]
            yield Found((*pool.names_path, index), f"{message}; expected each node once", related=related)
        seen = dict.fromkeys(expanded(text), index) | seen


@pool_rule("NOD016")
def excluded_node_of_no_pool(pool: Pool) -> Findings:
    """A pool excludes a node that is not in the pool."""
    section = machines(pool.spec)
    for name in section.excluded:
        if name not in section.nodes:
            actual = f"machines.excluded of node pool {pool.name} contains {name}, which is not in machines.names"
            message, fix = f"{actual}; expected a node of the pool", f"remove {name} from machines.excluded"
            yield Found((*pool.path, "machines", "excluded", name), message, fix, on_key=True)


@rule("NOD017")
def node_of_two_racks(cluster: Cluster) -> Findings:
    """A node is in two racks."""
    earlier: dict[str, tuple[str, int]] = {}
    for rack, nodes in racks(cluster.spec.cloud).items():
        for name, index in nodes.items():
            first, place = earlier.setdefault(name, (rack, index))
            if first != rack:
                related = [Related(f"the node in rack {first}", (*RACKS, first, place))]
                message = f"node {name} is in rack {first} and in rack {rack}; expected one rack"
                yield Found((*RACKS, rack, index), message, related=related)
                break


@rule("NOD018")
def node_without_rack(cluster: Cluster) -> Findings:
    """The topology of a pool has the level `rack`, but a node of the pool is in no rack."""
    known = {name for nodes in racks(cluster.spec.cloud).values() for name in nodes}
    for pool in cluster.pools:
        levels = pool.spec.topology or []
        missing = [name for name in machines(pool.spec).nodes if name not in known]
        if missing and "rack" in levels:
            more = f" and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
            actual = f"topology of node pool {pool.name} has rack, but no rack lists {kind_of(missing[:_MOST], 'node')}"
            message = f"{actual}{more}; expected entries of cloud.onPremises.racks such as rack-a: [{missing[0]}]"
            yield Found((*pool.path, "topology", levels.index("rack")), message)


@rule("NOD102", Severity.WARNING)
def rack_without_nodes(cluster: Cluster) -> Findings:
    """None of the nodes of a rack is in a pool, or some nodes of a rack are in no pool."""
    known = {name for pool in cluster.pools for name in machines(pool.spec).nodes}
    for rack, nodes in racks(cluster.spec.cloud).items() if known else ():
        strange = [name for name in nodes if name not in known]
        if len(strange) == len(nodes):
            message = f"rack {rack} lists no node of a node pool; expected names from machines.names of a node pool"
            yield Found((*RACKS, rack), message, on_key=True)
        elif strange:
            actual = f"rack {rack} lists {kind_of(strange[:_MOST], 'node')}, which no node pool has"
            message = f"{actual}; expected nodes of the pools"
            yield Found((*RACKS, rack, nodes[strange[0]]), message)


@rule("NOD103", Severity.WARNING)
def fewer_spares_than_racks(cluster: Cluster) -> Findings:
    """The topology of a pool has the level `rack`, but the pool has fewer spares than racks."""
    for pool in cluster.pools:
        used = by_rack(cluster.spec.cloud, machines(pool.spec).working)
        if "rack" in (pool.spec.topology or ()) and pool.spares < len(used):
            actual = f"node pool {pool.name} has {counted(pool.spares, 'spare')} for {counted(len(used), 'rack')}"
            message = f"{actual}: if a node fails, its rack may have no spare for a workload that requires one rack"
            related = [Related("the racks", RACKS, on_key=True)]
            has_key = "spares" in machines(pool.spec).model_fields_set
            place = (*pool.path, "machines", "spares") if has_key else (*pool.path, "topology")
            yield Found(place, f"{message}; expected {len(used)} spares or more", related=related, on_key=not has_key)
