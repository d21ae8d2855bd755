from gpuc.kubernetes.api_groups import KARPENTER
from gpuc.objects.object_set import dig, items
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.replacement import most_nodes, nodes_text, pool_name


@impact("IMP104", Level.NONE, source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodepool.go")
def pool_added(change: Change) -> Impacts:
    """A node pool is new.

    Karpenter starts nodes when pods are pending that select the pool; the nodes of a static pool start at once.
    """
    if change.is_new:
        return
    names = {pool_name(pair) for pair in change.pairs(KARPENTER, "NodePool") if not pair.is_added}
    for pair in change.pairs(KARPENTER, "NodePool"):
        name = pool_name(pair)
        if not pair.is_added or name in names:
            continue
        document = pair.manifest.document()
        types = [
            str(value)
            for _, entry in items(dig(document, "spec", "template", "spec", "requirements"))
            if dig(entry, "key") == "node.kubernetes.io/instance-type"
            for _, value in items(dig(entry, "values"))
        ]
        at_once = "starts at once" if dig(document, "spec", "replicas") is not None else "may start"
        message = f"new: Karpenter {at_once} {nodes_text(most_nodes(document))} of {', '.join(types) or 'any type'}"
        yield Raised(f"node pool {name}", message, pair.manifest)
