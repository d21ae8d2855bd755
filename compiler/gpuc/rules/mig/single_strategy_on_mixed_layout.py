from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("MIG002", source="NVIDIA/k8s-device-plugin v0.20.0 internal/rm/device_map.go")
def single_strategy_on_mixed_layout(cluster: Cluster) -> Findings:
    """The MIG strategy single is used with several profiles, or with whole GPUs beside slices.

    The device plugin exits, and the node advertises no GPU at all.
    """
    for pool in cluster.gpu_pools:
        sharing = pool.sharing
        if sharing and sharing.strategy == "single":
            kinds = [*sharing.slices(), *(["whole GPUs"] if sharing.whole_gpus else [])]
            if len(kinds) > 1:
                message = f"strategy is single, but a node has {', '.join(kinds)}; expected one profile on all GPUs"
                yield (*pool.path, "sharing", "mig", "strategy"), message, "write mixed"
