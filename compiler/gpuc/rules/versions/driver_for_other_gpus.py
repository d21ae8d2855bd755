from __future__ import annotations

from gpuc.model import Cluster, GpuPool
from gpuc.rules import Findings, rule
from gpuc.rules.nodes._images import is_own_ami


@rule("VER002", source="NVIDIA data-centre driver documentation, supported GPUs")
def driver_for_other_gpus(cluster: Cluster) -> Findings:
    """The driver of a pool does not run its GPUs.

    The driver does not load, the node advertises no GPU, and it is paid for.
    """
    for pool in cluster.gpu_pools:
        if pool.image.driver == "operator":
            yield from _of_branch(pool, cluster.components["gpu-operator"].default_driver, "the GPU Operator installs")
        elif not is_own_ami(pool):
            strange = list(_strange_types(pool))
            yield from strange
            if not strange and pool.image.driver_version:
                yield from _of_branch(pool, pool.image.driver_version, f"{pool.image.id} images bring")


def _strange_types(pool: GpuPool) -> Findings:
    for index, instance in enumerate(pool.instances):
        if instance.family in pool.image.unsupported_families:
            message = f"the driver of {pool.image.id} images does not run the GPUs of {instance.type}"
            yield (*pool.path, "instances", index), message


def _of_branch(pool: GpuPool, version: str, who: str) -> Findings:
    gpu = pool.gpu
    if gpu.confidence == "low" or not version:
        return
    branch, path = int(version.partition(".")[0]), (*pool.path, "instances", 0)
    if branch < gpu.min_driver_branch:
        yield path, f"{gpu.name} needs a driver of branch {gpu.min_driver_branch} or later; {who} {version}"
    elif gpu.max_driver_branch is not None and branch > gpu.max_driver_branch:
        yield path, f"{gpu.name} needs a driver of branch {gpu.max_driver_branch} or earlier; {who} {version}"
