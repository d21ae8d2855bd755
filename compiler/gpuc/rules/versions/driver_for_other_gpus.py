from __future__ import annotations

from gpuc.model import Cluster, GpuPool
from gpuc.rules import Findings, Found, rule
from gpuc.rules.nodes.images import has_ami_id


@rule("VER002", source="NVIDIA data-centre driver documentation, supported GPUs")
def driver_for_other_gpus(cluster: Cluster) -> Findings:
    """The NVIDIA driver does not support the GPUs of a node pool.

    The driver does not load. The nodes advertise no GPUs, but are paid for.
    """
    for pool in cluster.gpu_pools:
        if pool.image.driver == "operator":
            version = cluster.components["gpu-operator"].default_driver
            yield from _check_branch(pool, version, "the GPU Operator installs")
        elif not has_ami_id(pool):
            unsupported = list(_unsupported_types(pool))
            yield from unsupported
            if not unsupported and pool.image.driver_version:
                yield from _check_branch(pool, pool.image.driver_version, f"{pool.image.id} AMIs have")


def _unsupported_types(pool: GpuPool) -> Findings:
    for index, instance in enumerate(pool.instances):
        if instance.family in pool.image.unsupported_families:
            message = f"the driver of {pool.image.id} AMIs does not support the GPUs of {instance.type}"
            yield Found((*pool.path, "instances", index), message)


def _check_branch(pool: GpuPool, version: str, source: str) -> Findings:
    """Yields a finding if the driver branch of the version is too old or too new for the GPUs of the pool.

    `source` is the start of the sentence that names the origin of the driver, for example "the GPU Operator installs".
    """
    gpu = pool.gpu
    if gpu.confidence == "low" or not version:
        return
    branch, path = int(version.partition(".")[0]), (*pool.path, "instances", 0)
    subject = f"GPU {gpu.name} of node pool {pool.name}"
    if branch < gpu.min_driver_branch:
        yield Found(path, f"{subject} needs a driver of branch {gpu.min_driver_branch} or later; {source} {version}")
    elif gpu.max_driver_branch is not None and branch > gpu.max_driver_branch:
        yield Found(path, f"{subject} needs a driver of branch {gpu.max_driver_branch} or earlier; {source} {version}")
