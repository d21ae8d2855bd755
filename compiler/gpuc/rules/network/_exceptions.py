"""The exceptions to the NetworkPolicies of a tenant."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.model import Tenant
from gpuc.spec.network import Allowed


def exceptions(tenant: Tenant) -> Iterator[tuple[Path, Allowed]]:
    """Yields the path and the exception of each entry of egress and ingress, and of internet."""
    network, path = tenant.spec.network, (*tenant.path, "network")
    for index, egress in enumerate(network.egress):
        yield (*path, "egress", index), egress
    if network.internet is not None:
        yield (*path, "internet"), network.internet
    for index, ingress in enumerate(network.ingress):
        yield (*path, "ingress", index), ingress
