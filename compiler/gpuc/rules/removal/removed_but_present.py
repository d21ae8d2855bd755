from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.spec.cluster import Removed


@rule("REM101")
def removed_but_present(cluster: Cluster) -> Findings:
    """The spec names an element in `removed`, but still contains the element.

    If the element is removed later, the old entry in `removed` also accepts this removal.
    """
    present = {
        "pools": {pool.name for pool in cluster.pools},
        "tenants": {tenant.name for tenant in cluster.tenants},
        "namespaces": set(cluster.tenant_namespaces),
        "queues": {queue.name for queue in cluster.queues},
    }
    for section in Removed.model_fields:
        for name in getattr(cluster.spec.removed, section):
            if name in present[section]:
                kind = {"pools": "node pool"}.get(section, section.removesuffix("s"))
                message = f"{kind} {name} is in removed, but is still in the spec"
                yield ("spec", "removed", section, name), message, f"delete {name} from removed.{section}"
