from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule(
    "NET111",
    Severity.WARNING,
    source="kubernetes-sigs/aws-load-balancer-controller 225f4456 docs/guide/service/nlb.md (health check traffic)",
)
def internet_without_health_checks(cluster: Cluster) -> Findings:
    """The internet may connect to pods of a tenant, but the health checks of their load balancer may not.

    An NLB that keeps the addresses of clients sends its health checks from its own private addresses, which the
    internet excludes. Every target is unhealthy, and the NLB then sends requests to all targets, so that a first test
    succeeds. Later it sends requests to pods that do not answer. Pods with a readiness gate of the load balancer never
    become ready. If pods need no health checks, accept the finding.
    """
    for tenant in cluster.tenants:
        for index, entry in enumerate(tenant.spec.network.ingress if tenant.isolates_network else ()):
            if entry.internet and entry.health_checks is None:
                yield (
                    (*tenant.path, "network", "ingress", index, "internet"),
                    f"ingress of tenant {tenant.name} from the internet has no healthChecks, so every target of an NLB "
                    "is unhealthy; expected healthChecks with the ranges of the subnets of the load balancer",
                )
