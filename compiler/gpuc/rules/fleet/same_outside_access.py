from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Severity
from gpuc.kubernetes.addresses import SPECIAL_RANGES, ipv4_network, joined
from gpuc.rules import Owned, fleet_rule
from gpuc.spec.cluster import Spec
from gpuc.spec.network import Egress


@fleet_rule(
    "FLT005",
    Severity.WARNING,
    source="EKS user guide, EKS Pod Identity: IAM role trust policy, session tags (eks-cluster-arn)",
)
def same_outside_access(spec: Spec) -> Iterator[Owned]:
    """Clusters of different environments have the same IAM role, private address range or host name.

    Members of a tenant in staging then use the permissions, the databases and the host names of production. A layer
    that both specs extend is the usual cause: write these values into the specs. Public addresses, whole private
    networks and host names of servers may be the same. If the role, the servers or the host are for both environments,
    or the clusters are in networks with the same addresses, accept the finding.
    """
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
            for place, text in _private_ranges((*path, "network", "egress", index), entry):
                yield Owned(place, ("range", text), f"egress to {text}", spec.environment)


def _private_ranges(path: Path, entry: Egress) -> Iterator[tuple[Path, str]]:
    """Yields the private ranges of an entry, in their shortest form; invalid ranges have a finding of their own."""
    for index, cidr in enumerate(entry.ranges):
        network = ipv4_network(cidr)
        if network and any(network != special and network.subnet_of(special) for special in joined(SPECIAL_RANGES)):
            yield (*path, "cidr") if entry.cidr else (*path, "cidrs", index), str(network)
