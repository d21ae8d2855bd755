from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("TEN109", source="Kubernetes documentation, Ingress")
def host_of_two_tenants(cluster: Cluster) -> Findings:
    """Several tenants may use the same host name in their Ingresses.

    An ingress controller sends the requests for the host to one of the tenants, which then reads the requests of the
    users of the other tenant.
    """
    for tenant in cluster.tenants:
        others = {
            host: (other.name, (*namespace.path, "exposed", "hosts", index))
            for other in cluster.tenants
            if other is not tenant
            for namespace in other.namespaces
            for index, host in enumerate(namespace.spec.exposed.hosts)
        }
        for namespace in tenant.namespaces:
            for index, host in enumerate(namespace.spec.exposed.hosts):
                for shared in (name for name in others if _overlap(host, name)):
                    other, path = others[shared]
                    actual = f"tenant {tenant.name} may use the host {host} in namespace {namespace.name}"
                    message = f"{actual}, and tenant {other} the host {shared}"
                    related = [Related(f"the host of tenant {other}", path)]
                    yield (*namespace.path, "exposed", "hosts", index), message, "", related


def _overlap(host: str, other: str) -> bool:
    """Returns whether a host name matches both hosts, which can be wildcards."""
    return host == other or _covers(host, other) or _covers(other, host)


def _covers(wildcard: str, host: str) -> bool:
    return wildcard.startswith("*.") and host.removeprefix("*").endswith(wildcard[1:])
