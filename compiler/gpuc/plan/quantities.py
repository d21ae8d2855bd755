"""The quantities that a change of the spec adds or removes: nodes and their resources, quotas, GPUs of tenants."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster, Pool
from gpuc.model.units import number_text, unit_amounts, unit_name, with_unit
from gpuc.plan.change import Change
from gpuc.plan.impact import Raised
from gpuc.spec.pools import Nodes


def pool_sentences(before: Cluster, after: Cluster) -> Iterator[str]:
    """Yields a sentence for each node pool that is added, removed, or has another number of nodes."""
    old, new = ({pool.name: pool for pool in cluster.pools} for cluster in (before, after))
    for name, pool in new.items():
        if name not in old:
            types = ", ".join(instance.type for instance in pool.instances)
            yield f"node pool {name} is new: {_nodes_text(pool.spec.nodes)} of {types}"
            continue
        yield from _size_sentences(old[name], pool)
    for name, pool in old.items():
        if name not in new:
            yield f"node pool {name} is removed; it had {_nodes_text(pool.spec.nodes)}"


def quota_sentences(before: Cluster, after: Cluster) -> Iterator[str]:
    """Yields a sentence for each queue and namespace that gains or loses quota, and for added and removed queues."""
    old, new = ({queue.name: queue.spec.quota for queue in cluster.queues} for cluster in (before, after))
    pools = [{pool.name: pool for pool in cluster.pools} for cluster in (before, after)]
    for name in dict.fromkeys((*new, *old)):
        if name not in old or name not in new:
            yield f"queue {name} is {'new' if name in new else 'removed'}"
        amounts = (
            {pool: unit_amounts(known[pool], quota) for pool, quota in quotas.get(name, {}).items()}
            for known, quotas in zip(pools, (old, new), strict=True)
        )
        yield from _gains(f"queue {name}", "nominal quota", *amounts)
    limits = [{namespace.name: namespace.quotas for _, namespace in cluster.namespaces} for cluster in (before, after)]
    for name in dict.fromkeys((*limits[1], *limits[0])):
        amounts = ({row.pool.name: unit_amounts(row.pool, row.spec) for row in rows.get(name, ())} for rows in limits)
        yield from _gains(f"namespace {name}", "quota", *amounts)


def tenant_sentences(before: Cluster, after: Cluster) -> Iterator[str]:
    """Yields a sentence for each tenant that is added, is removed, or has quota for another number of GPUs."""
    old, new = ({tenant.name: gpus_at_quota(cluster, tenant.name) for tenant in cluster.tenants}
                for cluster in (before, after))  # fmt: skip
    for name in dict.fromkeys((*new, *old)):
        if name not in old:
            yield f"tenant {name} is new" + (f" and gets {with_unit(new[name], 'GPUs')}" if new[name] else "")
        elif name not in new:
            yield f"tenant {name} is removed" + (f" and loses {with_unit(old[name], 'GPUs')}" if old[name] else "")
        elif (difference := new[name] - old[name]) != 0:
            verb = "gains" if difference > 0 else "loses"
            change = f"{number_text(old[name])} -> {number_text(new[name])}"
            yield f"tenant {name} {verb} {with_unit(abs(difference), 'GPUs')} of quota: {change}"


def gpus_at_quota(cluster: Cluster, tenant: str) -> Fraction:
    """Returns the number of whole GPUs in the quotas of a tenant. The quota of a shared queue counts completely."""
    found = next(element for element in cluster.tenants if element.name == tenant)
    amounts = [(quota.pool, quota.nominal) for queue in found.queues for quota in queue.pool_quotas]
    amounts += [(limit.pool, limit.amounts) for namespace in found.namespaces for limit in namespace.quotas]
    return sum((node_share(pool, nominal) * pool.gpus_per_node for pool, nominal in amounts), Fraction(0))


def node_share(pool: Pool, amounts: Mapping[str, int]) -> Fraction:
    """Returns how many nodes of a pool offer these amounts, for example 5/2. In a pool with GPUs, only GPUs count."""
    if pool.is_gpu:
        node = pool.advertised(pool.instances[0])
        names = [name for name in pool.gpu_resource_names if node.get(name)]
    else:
        node, names = dict(pool.node), list(pool.base_resources)
    return max((Fraction(amounts.get(name, 0), node[name]) for name in names if node[name]), default=Fraction(0))


def _size_sentences(old: Pool, new: Pool) -> Iterator[str]:
    before, after = old.spec.nodes, new.spec.nodes
    if None not in (old.existing, new.existing) and old.nodes_max != new.nodes_max:
        verb = "grows" if new.nodes_max > old.nodes_max else "shrinks"
        yield f"node pool {new.name} {verb} from {old.nodes_max} to {with_unit(new.nodes_max, 'nodes')} that take pods"
    for noun, attribute in (("nodes", "max"), ("constant nodes", "static"), ("nodes", "min")):
        first, second = getattr(before, attribute), getattr(after, attribute)
        if first == second:
            continue
        if attribute == "min":
            count, most = second or 0, with_unit(after.max or 0, "nodes")
            yield f"node pool {new.name}: {count} of at most {most} now always {'runs' if count == 1 else 'run'}"
            continue
        if first is None or second is None:
            yield f"node pool {new.name} has {_nodes_text(after)} instead of {_nodes_text(before)}"
            return
        verb = "grows" if second > first else "shrinks"
        yield f"node pool {new.name} {verb} from {first} to {second} {noun}"


def _nodes_text(nodes: Nodes) -> str:
    if nodes.static is not None:
        return with_unit(nodes.static, "constant nodes")
    text = f"at most {with_unit(nodes.max or 0, 'nodes')}"
    return text + (f", of which {nodes.min} always {'runs' if nodes.min == 1 else 'run'}" if nodes.min else "")


def _gains(
    subject: str, noun: str, before: Mapping[str, Mapping[str, int]], after: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    for pool in dict.fromkeys((*after, *before)):
        old, new = before.get(pool, {}), after.get(pool, {})
        for unit in dict.fromkeys((*new, *old)):
            difference = new.get(unit, 0) - old.get(unit, 0)
            if difference:
                verb = "gains" if difference > 0 else "loses"
                change = f"{old.get(unit, 0)} -> {new.get(unit, 0)}"
                yield f"{subject} {verb} {with_unit(abs(difference), unit)} of {noun} on {pool}: {change}"


class AdvertisedChange(Struct, frozen=True):
    """A node pool whose nodes offer other GPU resources after the change."""

    name: str
    less: bool
    """Whether a node offers less of a resource."""
    raised: Raised
    """The impact: what a node offers instead of what."""


def advertised_changes(change: Change) -> Iterator[AdvertisedChange]:
    """Yields the node pools whose nodes offer other GPU resources after the change; none if a state has no spec."""
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    pools = {pool.name: pool for pool in before.pools}
    for pool in after.pools:
        old = pools.get(pool.name)
        if old is None or (first := _offered(old)) == (second := _offered(pool)):
            continue
        message = f"each node offers {_text(pool, second)} instead of {_text(old, first)}"
        quotas = ", ".join(sorted(f"queue {queue.name}" for queue in after.queues_of(pool)))
        details = (f"quotas on this pool: {quotas}",) if quotas else ()
        raised = Raised(f"node pool {pool.name}", message, path=sharing_path(change, pool), details=details)
        yield AdvertisedChange(pool.name, any(second.get(name, 0) < count for name, count in first.items()), raised)


def sharing_path(change: Change, pool: Pool) -> Path:
    """Returns the path in the spec of the first changed value of a pool; a value below `sharing` comes first."""
    below = change.changed_paths(*pool.path)
    return next(iter((*(path for path in below if "sharing" in path), *below)), pool.path)


def _offered(pool: Pool) -> dict[str, int]:
    """Returns the GPU resources of a node. The first instance type counts."""
    amounts = pool.advertised(pool.instances[0])
    return {name: amounts[name] for name in pool.gpu_resource_names if amounts.get(name)}


def _text(pool: Pool, amounts: dict[str, int]) -> str:
    return ", ".join(with_unit(count, unit_name(pool, name)) for name, count in amounts.items()) or "no GPUs"
