from collections.abc import Iterator

from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact(
    "IMP604",
    Level.DISRUPTS,
    source="aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/al2023.go, DescribeImageQuery; "
    "awsdocs/amazon-eks-user-guide, update-cluster",
)
def kubernetes_changes(change: Change) -> Impacts:
    """The spec names a newer version of Kubernetes.

    gpuc and Argo CD upgrade no control plane. After the control plane of EKS has the version, an image alias means
    the image of this version, and Karpenter replaces all nodes within the budgets.
    """
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None or _minor(after.spec.kubernetes) <= _minor(before.spec.kubernetes):
        return
    message = (
        f"Kubernetes {after.spec.kubernetes} instead of {before.spec.kubernetes}: neither gpuc nor Argo CD upgrades "
        "the control plane; after its upgrade, Karpenter replaces nodes"
    )
    steps = _minor(after.spec.kubernetes)[-1] - _minor(before.spec.kubernetes)[-1]
    upgrades = () if steps == 1 else (f"EKS upgrades by one minor version at a time: {steps} upgrades",)
    details = (*upgrades, *_images(change))
    yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=details)


def _images(change: Change) -> Iterator[str]:
    """Yields sentences about the images of the nodes after the upgrade."""
    names: dict[str, list[str]] = {"alias": [], "id": []}
    for manifest in change.after.objects.of("karpenter.k8s.aws", "EC2NodeClass"):
        for field, found in names.items():
            if any(field in term for term in dig(manifest.body, "spec", "amiSelectorTerms") or ()):
                found.append(manifest.name)
    if names["alias"]:
        yield (
            "after the upgrade, the image alias means another image, and Karpenter replaces all nodes of these pools "
            f"within their budgets: {', '.join(names['alias'])}"
        )
    if names["id"]:
        yield f"pools with the id of an image keep their nodes until the spec has another id: {', '.join(names['id'])}"


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))
