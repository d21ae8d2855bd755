from gpuc.plan.change import Change
from gpuc.plan.drift import drifts
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import details, pace, pool_name


@impact("IMP112", Level.DISRUPTS, source="aws/karpenter-provider-aws v1.14.1 pkg/cloudprovider/drift.go")
def nodes_perhaps_replaced(change: Change) -> Impacts:
    """Karpenter replaces nodes if other resources of AWS match a new selector.

    gpuc cannot know which images, subnets and security groups have the tags, or which nodes have a label. If other
    resources match than until now, the nodes drift.
    """
    for drift in drifts(change):
        if drift.unknown and not drift.all_nodes:
            first, cluster = drift.unknown[0], change.after.cluster
            reasons = ", ".join(reason.words for reason in drift.unknown)
            message = f"nodes are replaced if other resources match now, {pace(drift.pair, cluster)}: {reasons}"
            sentences = tuple(details(drift.pair, cluster))
            yield Raised(f"node pool {pool_name(drift.pair)}", message, first.manifest, first.path, sentences)
