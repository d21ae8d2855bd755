"""Time limits of workloads: for the start of pods, for loading a model, and for the end of pods on a draining node."""

from gpuc.model.cluster import Cluster
from gpuc.model.pool import Pool
from gpuc.parts.workload_kinds import pod_frameworks

MODEL_LOAD_SECONDS = 900
"""Time limit from the start of an inference server until the server is ready.

A model with 70B parameters of 16 bits has 140 GB, which load in 280 s at 500 MB/s. Compilation and CUDA graphs take up
to 300 s more. The limit is 1.5 times the sum, rounded up to full minutes.
"""


def queued_pools(cluster: Cluster) -> tuple[Pool, ...]:
    """Returns the pools for which a queue has a quota. Only these pools have a ResourceFlavor."""
    return tuple(pool for pool in cluster.pools if cluster.queues_of(pool))


def manages_pods(cluster: Cluster) -> bool:
    """Returns whether Kueue also manages pods that do not belong to a job, for example pods of Deployments."""
    return not pod_frameworks().isdisjoint(cluster.frameworks)


def pods_ready_minutes(cluster: Cluster) -> int:
    """Returns how long Kueue waits until the pods of an admitted workload are ready: 1.5 times the longest boot time.

    If Kueue manages Deployments, the time for loading a model is added, because the pods are ready only after that.
    With a shorter limit, Kueue would evict the pods again and again.

    Source: kubernetes-sigs/kueue v0.19.2 apis/config/v1beta2/configuration_types.go
    """
    slowest = max((pool.boot_minutes for pool in queued_pools(cluster)), default=10)
    load_minutes = MODEL_LOAD_SECONDS // 60 if manages_pods(cluster) else 0
    return -(-slowest * 3 // 2) + load_minutes
