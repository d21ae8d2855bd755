from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuc.diagnostics.finding import Path, Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP102", Severity.WARNING)
def repeated_entries(cluster: Cluster) -> Findings:
    """A list contains the same entry twice.

    The second entry has no effect; probably another value was intended.
    """
    for path, entries in _lists(cluster):
        for index, entry in enumerate(entries):
            if entry in entries[:index]:
                yield (*path, index), f"{path[-1]} contains {entry} twice", f"remove the second {entry}"


def _lists(cluster: Cluster) -> Iterator[tuple[Path, Sequence[str]]]:
    yield ("spec", "cloud", "aws", "zones"), cluster.aws.zones
    yield ("spec", "kueue", "frameworks"), cluster.spec.kueue.frameworks
    for pool in cluster.pools:
        yield (*pool.path, "instances"), pool.spec.instances
        yield (*pool.path, "purchase"), pool.spec.purchase
        yield (*pool.path, "zones"), pool.spec.zones or []
    for queue in cluster.queues:
        yield (*queue.path, "tenants"), queue.spec.tenants
    for tenant in cluster.tenants:
        yield (*tenant.path, "members", "groups"), tenant.spec.members.groups
