from gpuc.plan.change import Change
from gpuc.plan.chart_changes import numbers
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP612",
    Level.DISRUPTS,
    source="docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html; "
    "aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/ami.go, DescribeImageQueries",
)
def kubernetes_older(change: Change) -> Impacts:
    """The spec names an older version of Kubernetes.

    EKS rolls a control plane back by one minor version, within seven days after an upgrade. Otherwise the cluster has
    to be created again. Kubelets must not be newer than the API server, and an image alias means the image for the
    version that the control plane still has.
    """
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None or numbers(after.spec.kubernetes) >= numbers(before.spec.kubernetes):
        return
    message = (
        f"Kubernetes {after.spec.kubernetes} instead of {before.spec.kubernetes}: EKS rolls back by one minor version, "
        "within seven days after the upgrade, and later not at all"
    )
    details = (
        "first: replace the nodes with nodes of the older version, because a kubelet must not be newer than the API "
        "server; then roll back the control plane",
        "pools with an image alias need the id of an image of the older version first",
        "if the cluster never had the newer version, only the output of gpuc changes",
    )
    yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=details)
