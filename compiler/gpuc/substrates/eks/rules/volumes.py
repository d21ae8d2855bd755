"""The volumes of nodes."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.kubernetes.amounts import GIB
from gpuc.kubernetes.quantity import format_quantity
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.eks.scaling import IOPS_PER_MIB, aws, eks


@rule("KRP150", source="Amazon EBS User Guide, Amazon EBS encryption: the KMS key is in the Region of the volume")
def key_of_other_region(cluster: Cluster) -> Findings:
    """The KMS key for the volumes of nodes is in another region than the cluster.

    EC2 cannot create the volumes, so that no node starts.
    """
    key, region = aws(cluster).volume_kms_key or "", aws(cluster).region
    if key.startswith("arn:") and (actual := key.split(":")[3]) != region:
        message = f"volumeKmsKey is a key in region {actual}; expected a key in region {region}"
        yield Found(("spec", "cloud", "aws", "volumeKmsKey"), message)


_FIELDS = {
    "rootVolume": "root_volume",
    "rootVolumeThroughput": "root_volume_throughput",
    "rootVolumeIops": "root_volume_iops",
}


@pool_rule(
    "KRP152", Severity.WARNING, source="awslabs/amazon-eks-ami v20260724 templates/al2023/runtime/bin/setup-local-disks"
)
def root_volume_without_use(pool: Pool) -> Findings:
    """A node pool sets the size or speed of a root volume that holds neither images nor data of pods.

    With local NVMe disks and the policy RAID0, containerd and the kubelet use the disks. The root volume has only the
    operating system.
    """
    for name, attribute in _FIELDS.items():
        if eks(pool).uses_instance_store and getattr(eks(pool).spec, attribute) is not None:
            message = f"{name} of node pool {pool.name} has no effect on pods: images and data are on local disks"
            yield Found((*eks(pool).path, name), message, "remove the field", on_key=True)


@pool_rule("KRP117", source="compiler/gpuc/catalog/images.json, root_volume_min_gib")
def small_root_volume(pool: Pool) -> Findings:
    """The root volume of a node pool is too small for its AMI.

    EC2 refuses a volume that is smaller than the snapshot of the AMI, so no node starts. On a slightly larger volume,
    the container images of the DaemonSets fill the disk, and the kubelet evicts pods.
    """
    least = pool.image.root_volume_min_gib
    if eks(pool).root_volume_bytes < least * GIB:
        actual = format_quantity(eks(pool).root_volume_bytes, "binary")
        message = f"rootVolume of node pool {pool.name} is {actual}; {pool.image.id} AMIs need {least}Gi or more"
        fix = f"set rootVolume of node pool {pool.name} to {least}Gi or more"
        yield Found((*eks(pool).path, "rootVolume"), message, fix)


@pool_rule("KRP127", source="Amazon EBS User Guide, general purpose SSD volumes, gp3 volume performance")
def throughput_without_iops(pool: Pool) -> Findings:
    """The root volume of a node pool has too few I/O operations per second for its throughput.

    EC2 allows at most 0.25 MiB/s of throughput for each of them. It refuses the volume, so no node starts.
    """
    least = IOPS_PER_MIB * eks(pool).root_volume_throughput
    if eks(pool).root_volume_iops < least:
        actual = f"rootVolumeIops of node pool {pool.name} is {eks(pool).root_volume_iops}"
        message = f"{actual}; a throughput of {eks(pool).root_volume_throughput} MiB/s needs {least} or more"
        yield Found((*eks(pool).path, "rootVolumeIops"), message, f"set rootVolumeIops to {least}, or remove the field")
