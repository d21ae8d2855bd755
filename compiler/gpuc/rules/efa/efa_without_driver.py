from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA102", Severity.WARNING, source="catalog, EFA driver by image")
def efa_without_driver(cluster: Cluster) -> Findings:
    """A pool has EFA, but its image family does not come with the EFA driver.

    Unless you built it into the AMI, the interfaces are there and nothing speaks to them: NCCL falls back to TCP, at a
    tenth of the speed or less, without a word.
    """
    for pool in cluster.efa_pools:
        if not pool.image.efa_driver:
            yield (*pool.path, "fabric"), f"fabric is efa, but images of {pool.image.id} come without the EFA driver"
