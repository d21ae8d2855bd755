"""Rules about values that only one cluster, or only one environment, of a fleet may have."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Severity
from gpuc.kubernetes.addresses import SPECIAL_RANGES, ipv4_network, joined
from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec


@fleet_rule("FLT002")
def same_destination(spec: Spec) -> Iterator[Owned]:
    """Two specs have the same destination in Argo CD."""
    destination = spec.delivery.destination
    if not destination.is_own_cluster:
        key = "server" if destination.server else "name"
        value = destination.server or destination.name or ""
        yield Owned(("spec", "delivery", "destination", key), (key, value), f"Argo CD destination {value}")


@fleet_rule("FLT005", Severity.WARNING)
def same_outside_access(spec: Spec) -> Iterator[Owned]:
    """Clusters of different environments have the same IAM role, private address range or host name."""
    for name, tenant in spec.tenants.items():
        path: Path = ("spec", "tenants", name)
        for namespace, settings in tenant.namespaces.items():
            where = (*path, "namespaces", namespace)
            for account, service_account in settings.service_accounts.items():
                role = service_account.role
                place = (*where, "serviceAccounts", account, "role")
                yield Owned(place, ("role", role), f"IAM role {role}", spec.environment)
            for index, host in enumerate(settings.exposed.hosts):
                yield Owned((*where, "exposed", "hosts", index), ("host", host), f"host {host}", spec.environment)
        for index, entry in enumerate(tenant.network.egress):
            for place, text in entry.range_paths.items():
                if network := _private(text):
                    where = (*path, "network", "egress", index, *place)
                    yield Owned(where, ("range", network), f"egress to {network}", spec.environment)


def _private(text: str) -> str:
    """Returns a private range in its shortest form; empty for others. Invalid ranges have a finding of their own."""
    network = ipv4_network(text)
    is_private = network and any(network != other and network.subnet_of(other) for other in joined(SPECIAL_RANGES))
    return str(network) if is_private else ""
