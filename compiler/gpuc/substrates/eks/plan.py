"""What `gpuc plan` must know about a cluster on EKS: upgrades of its control plane, and its removal."""

from gpuc.objects.object_set import dig
from gpuc.plan.change import Change
from gpuc.plan.substrate import SubstratePlan
from gpuc.substrates.eks.section import SECTIONS


def _control_plane(change: Change, versions: int) -> tuple[str, tuple[str, ...]]:
    """Returns how EKS rolls a control plane back, or what its upgrade does to nodes.

    Karpenter accepts an alias of an image only as the single term of a list.
    """
    if versions < 0:
        way = "EKS rolls back by one minor version, within seven days after the upgrade, and later not at all"
        return way, ("pools with an image alias need the id of an image of the older version first",)
    classes = change.after.objects.of("karpenter.k8s.aws", "EC2NodeClass")
    aliases = [manifest.name for manifest in classes if dig(manifest.body, "spec", "amiSelectorTerms", 0, "alias")]
    others = [manifest.name for manifest in classes if manifest.name not in aliases]
    details: list[str] = []
    if versions > 1:
        details.append(f"EKS upgrades by one minor version at a time: {versions} upgrades")
    if aliases:
        details += (
            "after the upgrade, the image alias means another image, and Karpenter replaces all nodes of these pools "
            f"within their budgets: {', '.join(aliases)}",
            "if AWS has no image of this release for the new version, nothing is replaced and new nodes keep the old "
            "kubelet; choose a newer alias",
        )
    if others:
        details.append(f"pools without an image alias keep their nodes until another image: {', '.join(others)}")
    return "; after its upgrade, Karpenter replaces nodes" if aliases else "", tuple(details)


PLAN = SubstratePlan(
    sections=SECTIONS,
    cluster="EKS cluster",
    end="then kubectl delete nodepools --all, and wait until no NodeClaim is left: Karpenter has to drain and end its "
    "instances before EKS deletes the cluster",
    control_plane=_control_plane,
)
