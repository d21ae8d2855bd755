from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.kubernetes.node_pool import CAPACITY_TYPE
from gpuc.plan.change import Change
from gpuc.plan.drift import allowed_values, requirements
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import pool_name

_PATH = ("spec", "template", "spec", "requirements")


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
    for pair in change.pairs(KARPENTER, "NodePool"):
        rows = [requirements(value).get(CAPACITY_TYPE, (0, None)) for value in pair.values(*_PATH)]
        before, after = (allowed_values(row) for _, row in rows)
        name = pool_name(pair)
        if before is None or not after or name in seen or "on-demand" not in before - after:
            continue
        seen.add(name)
        message = f"nodes start only with purchase {', '.join(sorted(after))}: without such capacity, pods wait"
        yield Raised(f"node pool {name}", message, pair.after, (*_PATH, rows[1][0], "values"))
