from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import numbers
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP604",
    Level.DISRUPTS,
    source="aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/al2023.go, DescribeImageQuery; "
    "pkg/controllers/nodeclass/ami.go, Reconcile; "
    "awsdocs/amazon-eks-user-guide, update-cluster",
)
def kubernetes_changes(change: Change) -> Impacts:
    """The spec names a newer version of Kubernetes.

    gpuc and Argo CD upgrade no control plane. After the control plane of EKS has the version, an image alias means
    the image of its release for this version, and Karpenter replaces all nodes within the budgets. If AWS has no such
    image, Karpenter finds none, and nodes and new nodes keep the image of the old version.
    """
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None or numbers(after.spec.kubernetes) <= numbers(before.spec.kubernetes):
        return
    aliases, others = _pools_by_image(change)
    replaces = "; after its upgrade, Karpenter replaces nodes" if aliases else ""
    message = (
        f"Kubernetes {after.spec.kubernetes} instead of {before.spec.kubernetes}: neither gpuc nor Argo CD upgrades "
        f"the control plane{replaces}"
    )
    details: list[str] = []
    steps = numbers(after.spec.kubernetes)[-1] - numbers(before.spec.kubernetes)[-1]
    if steps > 1:
        details.append(f"EKS upgrades by one minor version at a time: {steps} upgrades")
    if aliases:
        details += (
            "after the upgrade, the image alias means another image, and Karpenter replaces all nodes of these pools "
            f"within their budgets: {', '.join(aliases)}",
            "if AWS has no image of this release for the new version, nothing is replaced and new nodes keep the old "
            "kubelet; choose a newer alias",
        )
    if others:
        details.append(f"pools without an image alias keep their nodes until another image: {', '.join(others)}")
    yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=tuple(details))


def _pools_by_image(change: Change) -> tuple[list[str], list[str]]:
    """Returns the pools with an image alias, and the pools whose images do not depend on the version of Kubernetes."""
    aliases: list[str] = []
    others: list[str] = []
    for manifest in change.after.objects.of("karpenter.k8s.aws", "EC2NodeClass"):
        # Karpenter accepts an alias only as the single term of a list.
        has_alias = any("alias" in term for term in dig(manifest.body, "spec", "amiSelectorTerms") or ())
        (aliases if has_alias else others).append(manifest.name)
    return aliases, others
