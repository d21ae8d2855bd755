from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.mig._layout import layout_path


@rule("MIG002", source="NVIDIA/k8s-device-plugin v0.20.0 internal/rm/device_map.go")
def single_strategy_on_mixed_layout(cluster: Cluster) -> Findings:
    """A node pool with the MIG strategy single has several MIG profiles, or both slices and whole GPUs.

    The device plugin exits, and the node advertises no GPUs.
    """
    for pool in cluster.gpu_pools:
        sharing = pool.sharing
        if sharing and sharing.strategy == "single":
            kinds = [f"{profile} slices" for profile in sharing.slices()]
            kinds += ["whole GPUs"] if sharing.whole_gpus else []
            if len(kinds) > 1:
                actual = f"MIG strategy of node pool {pool.name} is single, but its nodes have {' and '.join(kinds)}"
                message = f"{actual}; expected one MIG profile on all GPUs"
                related = [Related("the layout", layout_path(pool), on_key=True)]
                fix = f"set sharing.mig.strategy of node pool {pool.name} to mixed"
                yield (*pool.path, "sharing", "mig", "strategy"), message, fix, related
