from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP604",
    Level.DISRUPTS,
    source="aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/al2023.go (DescribeImageQuery)",
)
def kubernetes_changes(change: Change) -> Impacts:
    """The spec names another version of Kubernetes.

    gpuc and Argo CD upgrade no control plane. After the control plane of EKS has the version, an image alias means
    the image of this version, and Karpenter replaces all nodes within the budgets.
    """
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None or before.spec.kubernetes == after.spec.kubernetes:
        return
    message = (
        f"Kubernetes {after.spec.kubernetes} instead of {before.spec.kubernetes}: upgrade the control plane of EKS"
    )
    details = (
        "EKS upgrades by one minor version at a time",
        "then the image alias of the nodes means another image, and Karpenter replaces the nodes",
    )
    yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=details)
