from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("MIG010", Severity.WARNING, source="NVIDIA MIG user guide r620, limits")
def training_on_slices(cluster: Cluster) -> Findings:
    """A training node pool has MIG slices.

    Slices cannot communicate through NVLink or NCCL, and a process can use only one slice. Distributed training does
    not start.
    """
    for pool in cluster.gpu_pools:
        if pool.spec.purpose == "training" and pool.sharing and pool.sharing.mode == "mig":
            message = f"purpose of node pool {pool.name} is training, but its GPUs are MIG slices"
            related = [Related("MIG layout", (*pool.path, "sharing", "mig"), on_key=True)]
            yield (*pool.path, "purpose"), message, "", related
