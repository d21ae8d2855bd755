from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import image_path


@rule("EFA102", Severity.WARNING, source="catalog, EFA driver by image")
def efa_without_driver(cluster: Cluster) -> Findings:
    """A node pool has EFA, but its AMI family does not include the EFA driver.

    Without the driver no program can use the EFA interfaces. NCCL then uses TCP without a warning, at a tenth of the
    speed or less. Accept this finding if your own AMI has the driver.
    """
    for pool in cluster.efa_pools:
        if not pool.image.efa_driver:
            message = f"node pool {pool.name} has fabric efa, but {pool.image.id} AMIs do not include the EFA driver"
            related = [Related("the AMI", image_path(pool), on_key=True)]
            yield (*pool.path, "fabric"), message, "", related
