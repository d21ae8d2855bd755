"""ResourceQuotas that count the GPUs of pods outside of Kueue."""

from __future__ import annotations

from collections.abc import Iterable

from gpuc.kubernetes.amounts import Amounts, amount, described
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.nodes import PodDemand, matching_pools
from gpuc.trace.workload import Workload

GPU_PREFIXES = ("nvidia.com/", "amd.com/")


def counting_quota(
    cluster: ClusterIndex, workload: Workload, demands: Iterable[PodDemand]
) -> tuple[str, Manifest | None]:
    """Returns the ResourceQuota that counts the GPUs of pods outside of Kueue, in words and as an object.

    Returns an empty string if no ResourceQuota limits the GPUs, or if Kueue counts a node pool of the pods. Kueue then
    gives the same GPUs to queued workloads.
    """
    gpus: set[str] = set()
    for demand in demands:
        names = {name for name, count in demand.pod.items() if count and name.startswith(GPU_PREFIXES)}
        pools = matching_pools(cluster, demand)[0] if names else []
        if names and (not pools or any(match.pool.name in cluster.flavors.queued for match in pools)):
            return "", None
        gpus |= names
    for quota in cluster.in_namespace("ResourceQuota", workload.namespace):
        hard = _hard(quota, gpus)
        if gpus and gpus == hard.keys():
            return f"ResourceQuota {quota.name} of namespace {workload.namespace}, hard {described(hard)}", quota
    return "", None


def _hard(quota: Manifest, gpus: Iterable[str]) -> Amounts:
    """Returns the limits above 0 of requests for GPUs; empty for a ResourceQuota that counts only some pods."""
    if dig(quota.body, "spec", "scopes") or dig(quota.body, "spec", "scopeSelector"):
        return {}
    limits = ((name, amount(name, dig(quota.body, "spec", "hard", f"requests.{name}"))) for name in sorted(gpus))
    return {name: most for name, most in limits if most}
