from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("MIG010", Severity.WARNING, source="NVIDIA MIG user guide r620, limits")
def training_on_slices(cluster: Cluster) -> Findings:
    """A training pool partitions its GPUs into MIG slices.

    Slices cannot reach one another by NVLink or NCCL, and a process can use only one of them. Distributed training does
    not start.
    """
    for pool in cluster.gpu_pools:
        if pool.spec.purpose == "training" and pool.sharing and pool.sharing.mode == "mig":
            yield (*pool.path, "purpose"), f"purpose of {pool.name} is training, but a process gets one slice of a GPU"
