"""Rules about the volumes of nodes and the volumes of namespaces."""

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.amounts import GIB
from gpuc.kubernetes.quantity import format_quantity
from gpuc.model import Cluster, Pool, Tenant
from gpuc.rules import Findings, Found, pool_rule, rule, tenant_rule
from gpuc.substrates.eks.scaling import IOPS_PER_MIB, aws, eks


@rule("KRP150")
def key_of_other_region(cluster: Cluster) -> Findings:
    """The KMS key for the volumes of nodes is in another region than the cluster."""
    key, region = aws(cluster).volume_kms_key or "", aws(cluster).region
    if key.startswith("arn:") and (actual := key.split(":")[3]) != region:
        message = f"volumeKmsKey is a key in region {actual}; expected a key in region {region}"
        yield Found(("spec", "cloud", "aws", "volumeKmsKey"), message)


_FIELDS = {
    "rootVolume": "root_volume",
    "rootVolumeThroughput": "root_volume_throughput",
    "rootVolumeIops": "root_volume_iops",
}


@pool_rule("KRP152", Severity.WARNING)
def root_volume_without_use(pool: Pool) -> Findings:
    """A node pool sets the size or speed of a root volume that holds neither images nor data of pods."""
    for name, attribute in _FIELDS.items():
        if eks(pool).uses_instance_store and getattr(eks(pool).spec, attribute) is not None:
            message = f"{name} of node pool {pool.name} has no effect on pods: images and data are on local disks"
            yield Found((*eks(pool).path, name), message, "remove the field", on_key=True)


@pool_rule("KRP117")
def small_root_volume(pool: Pool) -> Findings:
    """The root volume of a node pool is too small for its AMI."""
    least = pool.image.root_volume_min_gib
    if eks(pool).root_volume_bytes < least * GIB:
        actual = format_quantity(eks(pool).root_volume_bytes, "binary")
        message = f"rootVolume of node pool {pool.name} is {actual}; {pool.image.id} AMIs need {least}Gi or more"
        fix = f"set rootVolume of node pool {pool.name} to {least}Gi or more"
        yield Found((*eks(pool).path, "rootVolume"), message, fix)


@pool_rule("KRP127")
def throughput_without_iops(pool: Pool) -> Findings:
    """The root volume of a node pool has too few I/O operations per second for its throughput."""
    least = IOPS_PER_MIB * eks(pool).root_volume_throughput
    if eks(pool).root_volume_iops < least:
        actual = f"rootVolumeIops of node pool {pool.name} is {eks(pool).root_volume_iops}"
        message = f"{actual}; a throughput of {eks(pool).root_volume_throughput} MiB/s needs {least} or more"
        yield Found((*eks(pool).path, "rootVolumeIops"), message, f"set rootVolumeIops to {least}, or remove the field")


@tenant_rule("TEN113")
def volume_without_share(tenant: Tenant) -> Findings:
    """A namespace of an EKS cluster has volumes, which only clusters of existing nodes can have."""
    for namespace in tenant.namespaces:
        if namespace.spec.volumes:
            message = f"namespace {namespace.name} has volumes, but only cloud.onPremises has shares"
            fix = f"remove volumes from namespace {namespace.name}"
            yield Found((*namespace.path, "volumes"), f"{message}; expected no volumes", fix, on_key=True)
