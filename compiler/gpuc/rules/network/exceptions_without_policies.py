from __future__ import annotations

from gpuc.diagnostics.finding import Related, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.network._exceptions import exceptions


@rule("NET110", Severity.WARNING)
def exceptions_without_policies(cluster: Cluster) -> Findings:
    """A tenant with isolation namespace has exceptions to NetworkPolicies, but no NetworkPolicies.

    The exceptions have no effect: pods of the tenant may connect to all addresses.
    """
    for tenant in cluster.tenants:
        for path, _ in exceptions(tenant) if tenant.spec.isolation == "namespace" else ():
            message = f"{path[4]} of tenant {tenant.name} has no effect, because the isolation is namespace"
            related = [Related("isolation is namespace", (*tenant.path, "isolation"))]
            yield path, f"{message}; expected isolation network or dedicated", "", related
