from __future__ import annotations

from collections.abc import Collection, Iterator

from gpuc.cluster.queue import Member, from_model
from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.model.units import unit_name
from gpuc.rules import Findings, Found, rule
from gpuc.rules.queues._places import counted_keys


@rule("QTA011", Severity.WARNING, source="kubernetes-sigs/kueue v0.19.2 pkg/scheduler/flavorassigner")
def resource_without_quota(cluster: Cluster) -> Findings:
    """A ClusterQueue covers a resource, but has no quota for the resource and cannot borrow quota.

    Kueue never admits a workload that requests the resource.
    """
    for member in from_model(cluster).by_name.values():
        is_leaving = any(pool_quota.pool.spec.leaving for pool_quota in member.pool_quotas.values())
        if member.queue and not member.queue.spec.leaving and not is_leaving:
            yield from uncovered(member)


def uncovered(queue: Member, closed: Collection[str] = ()) -> Iterator[Found]:
    """Yields a finding for each resource of which a ClusterQueue can use no quota, at the first flavor.

    Args:
        closed: flavors that are being removed, so that they intentionally have no quota.
    """
    done = {key[1] for key in queue.quotas if key[0] in closed or queue.capacity(key) > 0}
    for flavor, resource in counted_keys(queue):
        if resource in done:
            continue
        done.add(resource)
        what, path = resource, queue.covered_path(resource)
        if pool_quota := queue.pool_quotas.get(flavor):
            what = f"{unit_name(pool_quota.pool, resource)} of node pool {flavor}"
            path = (*pool_quota.path, "slices" if pool_quota.spec.slices else "gpus")
        if path:  # otherwise the resource is not covered, which is another mistake
            message = f"{queue.words} has no quota for {what} and cannot borrow any"
            yield Found(path, message, manifest=queue.manifest)
