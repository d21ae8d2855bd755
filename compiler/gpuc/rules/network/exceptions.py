"""Rules about the connections that a tenant declares in its section `network`, as exceptions to its isolation."""

from collections.abc import Iterator
from ipaddress import IPv4Network

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, Found, rule, tenant_rule
from gpuc.spec.network import Allowed


def exceptions(tenant: Tenant) -> Iterator[tuple[Path, Allowed]]:
    """Yields each entry of `egress`, `internet` and `ingress` of a tenant with its path in the spec."""
    network, path = tenant.spec.network, (*tenant.path, "network")
    for index, egress in enumerate(network.egress):
        yield (*path, "egress", index), egress
    if network.internet is not None:
        yield (*path, "internet"), network.internet
    for index, ingress in enumerate(network.ingress):
        yield (*path, "ingress", index), ingress


@tenant_rule("NET110", Severity.WARNING)
def exceptions_without_policies(tenant: Tenant) -> Findings:
    """A tenant has exceptions to NetworkPolicies, but with isolation namespace, it has no NetworkPolicies."""
    for path, _ in exceptions(tenant) if tenant.spec.isolation == "namespace" else ():
        message = f"{path[4]} of tenant {tenant.name} has no effect, because the isolation is namespace"
        related = [Related("isolation is namespace", (*tenant.path, "isolation"))]
        yield Found(path, f"{message}; expected isolation network or dedicated", related=related)


@rule("NET107", Severity.WARNING)
def redundant_egress(cluster: Cluster) -> Findings:
    """A range in the egress of a tenant is redundant, because another range or the internet includes it."""
    for tenant in cluster.tenants:
        ranges = list(_ranges(tenant))
        internet = tenant.spec.network.internet
        for index, (path, entry, network) in enumerate(ranges):
            wider = [
                (place, other)
                for number, (place, other_entry, other) in enumerate(ranges)
                if _includes(other_entry, entry) and network.subnet_of(other) and (network != other or number < index)
            ]
            if wider:
                place, first = wider[0]
                relation = "is repeated" if first == network else f"is part of the egress to {first}"
                related = [Related(f"egress to {first}", place)]
                expected = "expected ranges that do not contain each other"
            elif (
                internet
                and _includes(internet, entry)
                and not any(network.overlaps(other) for other in cluster.outside_internet)
            ):
                relation = "is part of network.internet"
                related = [Related("egress to the internet", (*tenant.path, "network", "internet"), on_key=True)]
                expected = "expected only ranges that the internet does not include"
            else:
                continue
            message = f"egress of tenant {tenant.name} to {network} {relation}; {expected}"
            yield Found(path, message, f"remove {network}", related)


def _ranges(tenant: Tenant) -> Iterator[tuple[Path, Allowed, IPv4Network]]:
    """Yields the path, the entry and the range of each valid range of the egress of a tenant."""
    for index, entry in enumerate(tenant.spec.network.egress):
        for path, cidr in entry.range_paths.items():
            network = ipv4_network(cidr)
            if network is not None:
                yield (*tenant.path, "network", "egress", index, *path), entry, network


def _includes(wider: Allowed, entry: Allowed) -> bool:
    """Returns whether an exception includes all ports, namespaces and pods of another exception."""
    ports = {(port.port, port.protocol) for port in entry.ports}
    return (
        ports <= {(port.port, port.protocol) for port in wider.ports}
        and (wider.only is None or set(entry.only or ("",)) <= set(wider.only))
        and (wider.only_pods is None or wider.only_pods == entry.only_pods)
    )


SUFFIXES = (".svc", ".cluster.local")


@tenant_rule("NET109", Severity.WARNING)
def names_in_cluster(tenant: Tenant) -> Findings:
    """A tenant may connect to the host name of a Service in the cluster, but a rule with host names matches no pods."""
    for index, egress in enumerate(tenant.spec.network.egress):
        for number, name in enumerate(egress.names or ()):
            if name.endswith(SUFFIXES):
                path = (*tenant.path, "network", "egress", index, "names", number)
                actual = f"egress of tenant {tenant.name} has {name}, the name of Services in the cluster"
                yield Found(path, f"{actual}; expected host names outside of the cluster")


@tenant_rule("NET111", Severity.WARNING)
def internet_without_health_checks(tenant: Tenant) -> Findings:
    """The internet may connect to pods of a tenant, but the health checks of the load balancer may not."""
    for index, entry in enumerate(tenant.spec.network.ingress if tenant.isolates_network else ()):
        if entry.internet and entry.health_checks is None:
            actual = f"ingress of tenant {tenant.name} from the internet has no healthChecks"
            expected = "expected healthChecks with the ranges of the subnets of the load balancer"
            path = (*tenant.path, "network", "ingress", index, "internet")
            yield Found(path, f"{actual}, so every target of an NLB is unhealthy; {expected}")


@rule("NET106", Severity.WARNING)
def metrics_without_prometheus(cluster: Cluster) -> Findings:
    """A tenant opens ports for Prometheus, but the spec names no Prometheus."""
    for tenant in cluster.tenants if cluster.spec.observability is None else ():
        if "metrics" in tenant.spec.network.model_fields_set and tenant.spec.network.metrics:
            message = f"tenant {tenant.name} has network.metrics, but the spec has no observability"
            yield Found((*tenant.path, "network", "metrics"), message, "add observability to the spec")
