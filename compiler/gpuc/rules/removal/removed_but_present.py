from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.spec.cluster import Removed


@rule("REM101")
def removed_but_present(cluster: Cluster) -> Findings:
    """A name is in `removed`, but the spec still contains the element with this name.

    If you remove the element later, gpuc accepts the removal because of the old entry in `removed`.
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
                yield ("spec", "removed", section, name), message, f"remove {name} from removed.{section}"
