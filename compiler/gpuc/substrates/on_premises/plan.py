"""What `gpuc plan` must know about a cluster of existing nodes: upgrades of its control plane, and its removal."""

from gpuc.plan.change import Change
from gpuc.plan.substrate import SubstratePlan
from gpuc.substrates.on_premises.section import SECTIONS


def _control_plane(change: Change, versions: int) -> tuple[str, tuple[str, ...]]:
    return ("", ()) if versions > 0 else ("neither gpuc nor Argo CD rolls the control plane back", ())


PLAN = SubstratePlan(
    sections=SECTIONS,
    cluster="Kubernetes cluster",
    end="then, to free the nodes: kubectl delete nodefeaturerule POOL for each node pool",
    control_plane=_control_plane,
)
