from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA107", Severity.WARNING)
def profile_without_fabric(cluster: Cluster) -> Findings:
    """A namespace has an NCCL profile for a fabric that no pool of its tenant has.

    The settings of the profile reach pods on nodes for which they were not written.
    """
    for tenant in cluster.tenants:
        fabrics = {pool.spec.fabric for pool in tenant.pools}
        for namespace in tenant.namespaces:
            if namespace.nccl and namespace.nccl.spec.fabric not in fabrics:
                fabric = namespace.nccl.spec.fabric
                message = f"profile {namespace.nccl.name} is for {fabric}; no pool of {tenant.name} has this fabric"
                yield (*namespace.path, "nccl"), message
