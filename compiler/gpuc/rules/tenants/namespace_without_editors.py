from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("RBA012", Severity.INFO)
def namespace_without_editors(cluster: Cluster) -> Findings:
    """No group has the role edit or admin in a namespace of a tenant.

    No member can submit workloads in the namespace. Argo CD still creates the objects of the tenant in
    specs/<cluster>/manifests/ and the charts of the tenant.
    """
    for tenant in cluster.tenants:
        closed = [
            namespace.name
            for namespace in tenant.namespaces
            if not {"edit", "admin"} & {*tenant.groups_by_role(namespace)}
        ]
        if closed and not tenant.spec.leaving:
            names = ("namespace " if len(closed) == 1 else "namespaces ") + ", ".join(closed)
            yield (*tenant.path, "members"), f"no group of tenant {tenant.name} has role edit or admin in {names}"
