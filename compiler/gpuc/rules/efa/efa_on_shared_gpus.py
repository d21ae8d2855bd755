from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA101", source="NVIDIA MIG user guide r620, limits")
def efa_on_shared_gpus(cluster: Cluster) -> Findings:
    """A node pool has EFA, but its GPUs are partitioned or shared.

    MIG slices and GPU shares have no peer-to-peer path to the network, so EFA between them does not work. Only
    one pod of a node can have the EFA interfaces.
    """
    for pool in cluster.efa_pools:
        if pool.sharing and pool.sharing.mode != "exclusive":
            message = (
                f"node pool {pool.name} has fabric efa and sharing {pool.sharing.kind}; EFA needs sharing exclusive"
            )
            sharing = (*pool.path, "sharing", pool.sharing.kind)
            related = [Related(f"sharing is {pool.sharing.kind}", sharing, on_key=True)]
            yield (*pool.path, "fabric"), message, "", related
