"""Rules about address ranges in a spec that would break the isolation of tenants, or cut off pods."""

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.kubernetes.addresses import ipv4_network
from gpuc.model import Cluster, Tenant
from gpuc.rules import Findings, Found, rule

SpecRange = tuple[Path, str]
"""A path in the spec, and the address range at the path."""
METADATA = IPv4Address("169.254.169.254")


def egress_ranges(cluster: Cluster) -> Iterator[SpecRange]:
    """Yields the address ranges outside of the cluster that pods of tenants may connect to."""
    for tenant in cluster.tenants:
        for index, entry in enumerate(tenant.spec.network.egress):
            for path, cidr in entry.range_paths.items():
                yield (*tenant.path, "network", "egress", index, *path), cidr


def ingress_ranges(cluster: Cluster) -> Iterator[SpecRange]:
    """Yields the address ranges from which clients and health checks may connect to pods of tenants."""
    for tenant in cluster.tenants:
        for index, entry in enumerate(tenant.spec.network.ingress):
            for key, cidrs in (("cidrs", entry.cidrs), ("healthChecks", entry.health_checks)):
                for number, cidr in enumerate(cidrs or ()):
                    yield (*tenant.path, "network", "ingress", index, key, number), cidr


def declared_ranges(cluster: Cluster, *keys: str) -> Iterator[SpecRange]:
    """Yields the ranges in lists such as podCidrs of the section `network`, and the endpoints of the substrate."""
    lists = {
        "podCidrs": cluster.network.pod_cidrs,
        "endpointCidrs": cluster.network.endpoint_cidrs,
        "apiServerCidrs": cluster.network.api_server_cidrs,
    }
    for key in keys:
        more = cluster.substrate.endpoint_ranges(cluster.spec) if key == "endpointCidrs" else ()
        for path, cidrs in ((("spec", "network", key), lists[key]), *more):
            yield from (((*path, index), text) for index, text in enumerate(cidrs))


def with_pods(cluster: Cluster, ranges: Iterable[SpecRange]) -> Iterator[tuple[Path, str, str, list[Related]]]:
    """Yields each range that overlaps podCidrs: its path, its text, the range of pods, and where this range is."""
    for path, text in ranges:
        given = ipv4_network(text)
        for place, pod_text in declared_ranges(cluster, "podCidrs"):
            pod_range = ipv4_network(pod_text)
            if given is not None and pod_range is not None and given.overlaps(pod_range):
                yield path, text, pod_text, [Related("addresses of pods", place)]
                break


@rule("NET101")
def invalid_range(cluster: Cluster) -> Findings:
    """An address range is invalid, or its address is not the first address of the range."""
    lists = declared_ranges(cluster, "podCidrs", "endpointCidrs", "apiServerCidrs")
    services = cluster.network.service_cidr
    single = [(("spec", "network", "serviceCidr"), services)] if services is not None else []
    for path, text in (*lists, *single, *egress_ranges(cluster), *ingress_ranges(cluster)):
        address_range = ipv4_network(text)
        if address_range is None:
            yield Found(path, f"{text} is not an IPv4 range; expected CIDR notation, for example 10.0.0.0/16")
        elif text.partition("/")[0] != str(address_range.network_address):
            message = f"{text} does not begin with the first address of its range; expected {address_range}"
            yield Found(path, message, f"replace {text} by {address_range}")


@rule("NET103")
def egress_to_metadata(cluster: Cluster) -> Findings:
    """The egress of a tenant includes the instance metadata service."""
    for path, text in egress_ranges(cluster):
        address_range = ipv4_network(text)
        if address_range is not None and METADATA in address_range:
            message = f"egress of tenant {path[2]} to {text} includes {METADATA}, the instance metadata service"
            yield Found(path, message, f"replace {text} by ranges without {METADATA}")


@rule("NET002")
def egress_to_pods(cluster: Cluster) -> Findings:
    """The egress of a tenant includes addresses of pods."""
    for path, text, pod_range, related in with_pods(cluster, egress_ranges(cluster)):
        actual = f"egress of tenant {path[2]} to {text} overlaps podCidrs {pod_range}"
        yield Found(path, f"{actual}; expected ranges outside of the cluster", related=related)


@rule("NET009")
def ingress_from_pods(cluster: Cluster) -> Findings:
    """The ingress of a tenant includes addresses of pods."""
    for path, text, pod_range, related in with_pods(cluster, ingress_ranges(cluster)):
        actual = f"ingress of tenant {path[2]} from {text} overlaps podCidrs {pod_range}"
        expected = "`internet: true`" if text == "0.0.0.0/0" else "ranges of clients outside of the cluster"
        yield Found(path, f"{actual}; expected {expected}, or ranges of load balancers", related=related)


@rule("NET104")
def ingress_from_tenant(cluster: Cluster) -> Findings:
    """The key network.ingress of a tenant lists a namespace of this tenant or of another tenant."""
    owners = {namespace.name: tenant for tenant, namespace in cluster.namespaces}
    for tenant in cluster.tenants:
        for index, ingress in enumerate(tenant.spec.network.ingress):
            owner = owners.get(ingress.namespace or "")
            if owner:
                path = (*tenant.path, "network", "ingress", index, "namespace")
                actual = f"ingress of tenant {tenant.name} allows namespace {ingress.namespace} of tenant {owner.name}"
                place = (*owner.path, "namespaces", ingress.namespace or "")
                related = [Related(f"the namespace in tenant {owner.name}", place, on_key=True)]
                yield Found(path, f"{actual}; expected a namespace of the platform", related=related)


@rule("NET105")
def range_among_services(cluster: Cluster) -> Findings:
    """An address range overlaps the addresses of Services."""
    services = ipv4_network(cluster.network.service_cidr or "")
    keys = ("podCidrs", "endpointCidrs", "apiServerCidrs")
    for path, text in (*declared_ranges(cluster, *keys), *egress_ranges(cluster)):
        address_range = ipv4_network(text)
        if services is not None and address_range is not None and address_range.overlaps(services):
            name = f"egress of tenant {path[2]} to {text}" if path[1] == "tenants" else f"{path[3]} {text}"
            message = f"{name} overlaps serviceCidr {services}; expected a range without addresses of Services"
            related = [Related("addresses of Services", ("spec", "network", "serviceCidr"))]
            yield Found(path, message, related=related)


@rule("NET102")
def endpoints_among_pods(cluster: Cluster) -> Findings:
    """`endpointCidrs`, `s3GatewayCidrs` or `apiServerCidrs` contain addresses of pods."""
    ranges = declared_ranges(cluster, "endpointCidrs", "apiServerCidrs")
    for path, text, pod_range, related in with_pods(cluster, ranges):
        message = f"{path[3]} {text} overlaps podCidrs {pod_range}; expected ranges without addresses of pods"
        yield Found(path, message, related=related)


@rule("NET108", Severity.WARNING)
def range_cut_by_internet(cluster: Cluster) -> Findings:
    """A range contains addresses that gpuc excludes from the internet; with the VPC CNI, pods cannot reach them."""
    if cluster.network.policy_engine != "vpc-cni":
        return
    for tenant in cluster.tenants:
        for direction, (path, text) in _ranges_beside_internet(cluster, tenant):
            network = ipv4_network(text)
            for cut in cluster.outside_internet:
                if network and network != cut and cut.subnet_of(network):
                    actual = f"{direction} of tenant {tenant.name} has {text}, which contains {cut}"
                    effect = f"with policyEngine vpc-cni, {cut} stays closed, because the internet excludes it"
                    yield Found(path, f"{actual}; {effect}; expected {cut}, or ranges without it")
                    break


def _ranges_beside_internet(cluster: Cluster, tenant: Tenant) -> Iterator[tuple[str, SpecRange]]:
    """Yields the direction and the ranges of a tenant in the directions in which it also names the internet."""
    network = tenant.spec.network
    if network.internet is not None:
        yield from (("egress", found) for found in egress_ranges(cluster) if found[0][2] == tenant.name)
    if any(entry.internet for entry in network.ingress):
        yield from (("ingress", found) for found in ingress_ranges(cluster) if found[0][2] == tenant.name)


@rule("NET006")
def isolation_without_ranges(cluster: Cluster) -> Findings:
    """A tenant is isolated by NetworkPolicies, but the spec lacks address ranges that the policies need."""
    ranges = {"podCidrs": cluster.network.pod_cidrs, "endpointCidrs": cluster.network.endpoint_cidrs}
    for tenant in cluster.tenants:
        if not tenant.isolates_network:
            continue
        if tenant.spec.network.api_server:
            ranges["apiServerCidrs"] = cluster.network.api_server_cidrs
        missing = [key for key, cidrs in ranges.items() if not cidrs]
        if missing:
            needed = f"isolation of tenant {tenant.name} is {tenant.spec.isolation}"
            message = f"{needed}, but network has no {', '.join(missing)}"
            yield Found((*tenant.path, "isolation"), message, f"add {', '.join(missing)} to network")
            return
