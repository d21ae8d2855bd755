from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.kubernetes.duration import parse_duration
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import GRACE, pool_name

_PATH = ("spec", "template", "spec", "expireAfter")


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
    for pair in change.pairs(KARPENTER, "NodePool"):
        before, after = (_seconds(value) for value in pair.values(*_PATH))
        name = pool_name(pair)
        if (
            pair.is_added
            or pair.is_removed
            or after is None
            or (before is not None and after >= before)
            or name in seen
        ):
            continue
        seen.add(name)
        lifetimes = pair.values(*_PATH)
        message = f"new nodes end {lifetimes[1]} after their start instead of {_text(lifetimes[0])}"
        grace = pair.values(*GRACE)[1]
        end = f"after at most {grace}" if isinstance(grace, str) else "when they have finished"
        details = (
            "expiry ignores budgets and working hours, and does not wait for a new node",
            f"an expired node drains; pods with karpenter.sh/do-not-disrupt end {end}",
        )
        yield Raised(f"node pool {name}", message, pair.manifest, _PATH, details)


def _seconds(value: object) -> float | None:
    """Returns a lifetime in seconds; None for nodes that never expire. A NodePool without a value has 720 hours.

    The API server refuses a value that is not a duration.
    """
    text = "720h" if value is None else str(value)
    try:
        return None if text == "Never" else parse_duration(text)
    except ValueError:
        return None


def _text(value: object) -> str:
    return "720h" if value is None else str(value).lower()
