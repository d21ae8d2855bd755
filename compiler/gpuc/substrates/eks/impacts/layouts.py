"""Impacts of a change of a MIG layout: running nodes keep the old layout."""

from collections.abc import Iterator

from gpuc.cluster.pool_fields import LABELS
from gpuc.model.names import MIG_CONFIG_LABEL
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig, pairs
from gpuc.plan.change import Change, PoolPair
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.pool_sizes import nodes_of, nodes_text, pool_of
from gpuc.plan.quantities import sharing_path
from gpuc.substrates.eks.drift import Scope, drifts

_MIG_FILE = ("migManager", "config", "data", "config.yaml")


@impact("IMP122", Level.DISRUPTS)
def layout_not_applied(change: Change) -> Impacts:
    """The MIG layout of a node pool changes, and its running nodes keep the old layout."""
    replaced = {drift.name for drift in drifts(change, Scope.ALL)}
    for pair in _pools_with_another_layout(change):
        if pair.element in replaced:
            continue
        count = nodes_text(nodes_of([pair]))
        message = f"{count} keep the old MIG layout until their MIG manager restarts; Karpenter replaces none of them"
        details = (
            "quotas and new nodes have the new layout at once",
            f"delete the NodeClaims by hand: kubectl get nodeclaims -l karpenter.sh/nodepool={pair.name}",
            "a MIG manager that restarts on an old node stops the device plugin, tries the new layout, and fails "
            "on GPUs that pods use",
        )
        raised = pair.raised(message, LABELS, details)
        pool = pool_of(change.after.cluster, pair.element)
        yield raised._replace(manifest=None, path=sharing_path(change, pool)) if pool else raised


def _pools_with_another_layout(change: Change) -> Iterator[PoolPair]:
    """Yields NodePools whose nodes keep the name of their MIG layout, while the content of the layout changes."""
    values = change.values_of("gpu-operator")
    texts = values.values(*_MIG_FILE) if values and values.is_changed else (None, None)
    states = zip((change.before, change.after), texts, strict=True)
    before, after = (dict(pairs(dig(document(state.objects, text), "mig-configs"))) for state, text in states)
    for pair in change.pools:
        old, new = pair.labels(MIG_CONFIG_LABEL)
        if old is not None and old == new and old in before and before[old] != after.get(old):
            yield pair
