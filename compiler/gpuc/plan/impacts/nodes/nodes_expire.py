from gpuc.cluster.pool_fields import LIFETIME
from gpuc.kubernetes.duration import parse_duration
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP113",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/expiration/controller.go",
)
def nodes_expire(change: Change) -> Impacts:
    """Nodes of a node pool end after a time, or after a shorter time than before.

    Karpenter deletes an expired node without regard to budgets and working hours, and before a new node has started.
    Nodes that start together expire together. A running node keeps the lifetime with which it started.
    """
    seen = set()
    for pair in change.pools:
        old, new = pair.old, pair.new
        if old is None or new is None:
            continue
        before, after = _seconds(old.lifetime), _seconds(new.lifetime)
        name = pair.pool
        if after is None or (before is not None and after >= before) or name in seen:
            continue
        seen.add(name)
        message = f"new nodes end {new.lifetime} after their start instead of {old.lifetime.lower()}"
        end = f"after at most {new.grace}" if new.grace else "when they have finished"
        details = (
            "expiry ignores budgets and working hours, and does not wait for a new node",
            f"an expired node drains; pods with karpenter.sh/do-not-disrupt end {end}",
        )
        yield Raised(f"node pool {name}", message, pair.manifest, LIFETIME, details)


def _seconds(text: str) -> float | None:
    """Returns a lifetime in seconds; None for nodes that never expire.

    The API server refuses a value that is not a duration.
    """
    try:
        return None if text == "Never" else parse_duration(text)
    except ValueError:
        return None
