from gpuc.plan.change import Change
from gpuc.plan.drift import KARPENTER
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.replacement import pool_name


@impact(
    "IMP103",
    Level.DISRUPTS,
    source="kubernetes-sigs/karpenter v1.14.1 pkg/controllers/static/deprovisioning/controller.go",
)
def static_pool_shrinks(change: Change) -> Impacts:
    """A static node pool gets fewer nodes, or fewer of its nodes always run.

    Karpenter deletes the surplus nodes at once, empty nodes first, and drains their pods. Budgets do not apply.
    """
    for pair in change.pairs(KARPENTER, "NodePool"):
        before, after = pair.values("spec", "replicas")
        if pair.is_removed or not isinstance(before, int) or not isinstance(after, int) or after >= before:
            continue
        name = pool_name(pair)
        count = before - after
        noun = "node" if count == 1 else "nodes"
        message = f"Karpenter deletes {count} of {before} {noun} at once, and evicts their pods"
        details = ("empty nodes come first; budgets and working hours do not apply",)
        predicts = (Prediction(f"nodes of pool {name}", "removed"),)
        yield Raised(f"node pool {name}", message, pair.manifest, ("spec", "replicas"), details, predicts)
