from gpuc.cluster.pool_fields import REQUIREMENTS
from gpuc.kubernetes.node_pool import CAPACITY_TYPE
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP108",
    Level.RESTRICTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/provisioning/scheduling/nodeclaim.go "
    "(filterInstanceTypesByRequirements)",
)
def on_demand_removed(change: Change) -> Impacts:
    """A node pool starts no nodes on demand any more.

    If EC2 has no spot capacity, or the reservations are full, no node starts, and pods wait. The running nodes on
    demand are replaced, which is another impact.
    """
    seen = set()
    for pair in change.pools:
        old, new = (by_key.get(CAPACITY_TYPE) for by_key in pair.requirements)
        before, after = old and old.allowed, new and new.allowed
        name = pair.pool
        if new is None or before is None or not after or name in seen or "on-demand" not in before - after:
            continue
        seen.add(name)
        message = f"nodes start only with purchase {', '.join(sorted(after))}: without such capacity, pods wait"
        yield Raised(f"node pool {name}", message, pair.after, (*REQUIREMENTS, new.position, "values"))
