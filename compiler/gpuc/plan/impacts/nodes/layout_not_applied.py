from gpuc.cluster.pool_fields import LABELS
from gpuc.plan.change import Change
from gpuc.plan.drift import Scope, drifts
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.plan.operands import pools_with_another_layout
from gpuc.plan.quantities import sharing_path
from gpuc.plan.replacement import nodes_of, nodes_text, pool_of


@impact(
    "IMP122",
    Level.DISRUPTS,
    source="NVIDIA/mig-parted v0.15.0 cmd/nvidia-mig-manager/main.go (ContinuouslySyncMigConfigChanges), "
    "pkg/mig/reconfigure/reconfigure.go (Run, setState), cmd/nvidia-mig-parted/apply/config.go, "
    "pkg/mig/config/config.go (SetMigConfig, ClearMigConfig)",
)
def layout_not_applied(change: Change) -> Impacts:
    """The MIG layout of a node pool changes, and its running nodes keep the old layout.

    The MIG manager of the GPU Operator applies a layout when it starts and when the label of the node changes. The
    label names the layout, and the name stays. Karpenter does not replace the nodes, because the NodePool stays.
    If the MIG manager restarts on an old node, it stops the device plugin and tries the new layout. On a GPU that a pod
    uses it fails, and free slices of this GPU can be lost; GPUs before it have the new layout. The device plugin then
    starts again, and the label nvidia.com/mig.config.state is failed. A node without pods on its GPUs gets the new
    layout.
    """
    replaced = {drift.name for drift in drifts(change, Scope.ALL)}
    for pair in pools_with_another_layout(change):
        name = pair.pool
        if name not in replaced:
            count = nodes_text(nodes_of([pair]))
            message = (
                f"{count} keep the old MIG layout until their MIG manager restarts; Karpenter replaces none of them"
            )
            details = (
                "quotas and new nodes have the new layout at once",
                f"delete the NodeClaims by hand: kubectl get nodeclaims -l karpenter.sh/nodepool={pair.name}",
                "a MIG manager that restarts on an old node stops the device plugin, tries the new layout, and fails "
                "on GPUs that pods use",
            )
            pool = pool_of(change.after.cluster, name)
            manifest = pair.after if pool is None else None
            path = LABELS if pool is None else sharing_path(change, pool)
            yield Raised(f"node pool {name}", message, manifest, path, details)
