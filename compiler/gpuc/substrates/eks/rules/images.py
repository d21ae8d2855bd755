"""Rules about the AMIs of node pools."""

from gpuc.diagnostics.finding import Related
from gpuc.model import Cluster, GpuPool, Pool
from gpuc.rules import Findings, Found, gpu_rule, rule
from gpuc.substrates.eks.scaling import eks


@rule("KRP011")
def floating_image(cluster: Cluster) -> Findings:
    """A node pool in production uses the latest AMI instead of a fixed version."""
    if cluster.spec.environment != "prod":
        return
    for path, pool in {pool.image_path: pool for pool in cluster.pools}.items():
        if eks(pool).ami.endswith("@latest"):
            message = f"image is {eks(pool).ami} in environment prod; expected a fixed version such as al2023@v20260815"
            yield Found(path, message)


@rule("KRP131")
def image_of_two_architectures(cluster: Cluster) -> Findings:
    """Node pools with different CPU architectures have the same AMI id."""
    first: dict[str, Pool] = {}
    for pool in sorted(cluster.pools, key=lambda pool: not pool.is_gpu):
        if not pool.is_own_image:
            continue
        other = first.setdefault(eks(pool).ami, pool)
        arch, other_arch = pool.instances[0].arch, other.instances[0].arch
        if arch != other_arch:
            path = (*eks(pool).path, "image") if eks(pool).spec.image else (*pool.path, "instances", 0)
            actual = f"node pool {other.name} with the same AMI {eks(pool).ami} is {other_arch}"
            expected = f"expected an AMI for {arch} in image of node pool {pool.name}"
            related = [Related(f"node pool {other.name} is {other_arch}", (*other.path, "instances", 0))]
            yield Found(path, f"node pool {pool.name} is {arch}, but {actual}; {expected}", related=related)


COMPONENTS = {"driver": "driver", "toolkit": "container toolkit", "device_plugin": "device plugin"}
SOURCES = {"image": "AMI", "operator": "GPU Operator"}


@rule("GPU002")
def incompatible_images(cluster: Cluster) -> Findings:
    """The AMIs of two GPU node pools need different components of the GPU Operator."""
    if not cluster.gpu_pools:
        return
    # The reference is a pool with the cluster's AMI, or the first pool if every pool has another AMI.
    reference = min(cluster.gpu_pools, key=lambda pool: eks(pool).spec.image is not None)
    for path, pool in {pool.image_path: pool for pool in cluster.gpu_pools}.items():
        for attribute, component in COMPONENTS.items():
            source, expected = getattr(pool.image, attribute), getattr(reference.image, attribute)
            if source != expected:
                actual = f"node pool {pool.name} gets the {component} from the {SOURCES[source]}"
                yield Found(path, f"{actual}, but node pool {reference.name} from the {SOURCES[expected]}")
                break


@rule("KRP111")
def invalid_image_version(cluster: Cluster) -> Findings:
    """The version of an AMI does not have the format of the AMI family."""
    import re

    for path, pool in {pool.image_path: pool for pool in cluster.pools}.items():
        pattern = pool.image.alias_pattern
        if pool.is_own_image or eks(pool).ami.endswith("@latest") or re.fullmatch(pattern, eks(pool).ami):
            continue
        example = {"bottlerocket": "bottlerocket@v1.54.0"}.get(pool.image.id, f"{pool.image.id}@v20260815")
        actual = f"image {eks(pool).ami} of node pool {pool.name} is not a version of AMI family {pool.image.id}"
        yield Found(path, f"{actual}; expected a version such as {example}")


@gpu_rule("GPU101")
def mps_without_operator(pool: GpuPool) -> Findings:
    """A node pool shares GPUs through MPS, but its AMI has its own device plugin, which does not support MPS."""
    if pool.image.device_plugin == "image" and pool.sharing and pool.sharing.kind == "mps":
        actual = f"the device plugin of {pool.image.id} AMIs does not support sharing mps of node pool {pool.name}"
        message = f"{actual}; expected exclusive or timeSlicing"
        yield Found((*pool.path, "sharing", "mps", "replicas"), message)


UNRESTRICTED = ("al2",)
"""AMI families that include a container toolkit which gpuc cannot configure."""


@rule("GPU003")
def visible_gpus(cluster: Cluster) -> Findings:
    """Pods can use GPUs that they did not request."""
    for path, pool in {pool.image_path: pool for pool in cluster.gpu_pools}.items():
        if pool.image.id in UNRESTRICTED:
            actual = f"node pool {pool.name} has {pool.image.id} AMIs, whose container toolkit gpuc cannot restrict"
            yield Found(path, f"{actual}; expected al2023 or bottlerocket")
