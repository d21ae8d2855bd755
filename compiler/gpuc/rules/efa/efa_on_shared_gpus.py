from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA101", source="NVIDIA MIG user guide r620, limits")
def efa_on_shared_gpus(cluster: Cluster) -> Findings:
    """A pool has EFA, but its GPUs are partitioned or shared.

    MIG slices and GPU shares have no peer-to-peer path to the network, so EFA between them does not work. The pool pays
    for EFA, and only one pod can hold its interfaces.
    """
    for pool in cluster.efa_pools:
        if pool.sharing and pool.sharing.mode != "exclusive":
            yield (*pool.path, "fabric"), f"fabric is efa, but sharing is {pool.sharing.kind}; EFA needs whole GPUs"
