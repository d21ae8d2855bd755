"""Recording rules of Prometheus: the fraction of a GPU that each resource is, the action for each XID, and usage.

Source: kubernetes/kube-state-metrics v2.20 docs/metrics/workload/pod-metrics.md; the module alerts has the labels of
the DCGM exporter
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from gpuc.catalog.operations import Xid
from gpuc.emit.alerts.alert import Record, fact, records
from gpuc.model import Cluster, GpuPool
from gpuc.model.names import GPU


def gpu_records(cluster: Cluster) -> Iterator[Record]:
    """Yields recording rules with data about GPUs, and with the use of GPUs by tenant, node pool and queue."""
    for xid in sorted(cluster.catalog.xids.values(), key=lambda row: row.xid):
        if xid.action != "none":
            yield fact("gpuc:xid:info", xid=str(xid.xid), action=xid.action, level=level(xid))
    for pool in cluster.gpu_pools:
        for resource, profile, part in parts_of_gpu(pool):
            value = f"{part.numerator}" if part.denominator == 1 else f"{part.numerator} / {part.denominator}"
            labels = {"resource": metric_resource(resource), "kueue_resource": resource, "GPU_I_PROFILE": profile}
            yield fact("gpuc:unit:gpus", value, pool=pool.name, **labels)
    for pool in cluster.gpu_pools:
        if pool.gpu.peak_tflops:
            yield fact("gpuc:pool_peak:flops", f"{pool.gpu.peak_tflops:g}e12", pool=pool.name)
    yield from records(Path(__file__).parent)


def level(xid: Xid) -> str:
    """Returns the severity of the alert for an XID. It is critical if a node with this XID should get no new work."""
    return "critical" if xid.isolation == "isolate" and xid.confidence != "low" else "warning"


def parts_of_gpu(pool: GpuPool) -> Iterator[tuple[str, str, Fraction]]:
    """Yields each GPU resource of a pool, its MIG profile, and the size of one unit as a fraction of a GPU.

    The fractions of a complete layout add up to one GPU. If GPUs with different layouts have the same profile, the
    fraction is the mean. The profile is empty for complete GPUs and shares.
    """
    sharing = pool.sharing
    if sharing.kind != "mig" or sharing.whole_gpus:
        (resource,) = pool.gpu_resource_names if sharing.kind != "mig" else (GPU,)
        yield resource, "", Fraction(1, sharing.replicas)
    parts: dict[str, list[Fraction]] = {}
    for layout in sharing.layouts:
        weights = {profile: pool.profiles.profiles[profile].memory_slices for profile, _ in layout}
        full = sum(weights[profile] * count for profile, count in layout)
        for profile, count in layout:
            parts.setdefault(profile, []).extend([Fraction(weights[profile], full)] * count)
    for profile, found in sorted(parts.items()):
        yield sharing.resource(profile), profile, sum(found, Fraction(0)) / len(found)


def metric_resource(resource: str) -> str:
    """Returns a resource name in the form that kube-state-metrics uses in labels, for example nvidia_com_gpu."""
    return "".join(character if character.isalnum() else "_" for character in resource)
