from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA102", Severity.WARNING, source="catalog, EFA driver by image")
def efa_without_driver(cluster: Cluster) -> Findings:
    """A pool has EFA, but its image family does not include the EFA driver.

    Unless your own AMI has the driver, no program can use the interfaces. NCCL falls back to TCP without a warning, at
    a tenth of the speed or less.
    """
    for pool in cluster.efa_pools:
        if not pool.image.efa_driver:
            yield (*pool.path, "fabric"), f"fabric is efa, but images of {pool.image.id} do not include the EFA driver"
