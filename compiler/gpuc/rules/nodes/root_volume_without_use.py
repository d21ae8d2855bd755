from __future__ import annotations

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule

_FIELDS = {
    "rootVolume": "root_volume",
    "rootVolumeThroughput": "root_volume_throughput",
    "rootVolumeIops": "root_volume_iops",
}


@rule(
    "KRP152", Severity.WARNING, source="awslabs/amazon-eks-ami v20260724 templates/al2023/runtime/bin/setup-local-disks"
)
def root_volume_without_use(cluster: Cluster) -> Findings:
    """A node pool sets the size or speed of a root volume that holds neither images nor data of pods.

    With local NVMe disks and the policy RAID0, containerd and the kubelet use the disks. The root volume has only the
    operating system.
    """
    for pool in cluster.pools:
        for name, attribute in _FIELDS.items():
            if pool.uses_instance_store and getattr(pool.spec, attribute) is not None:
                message = f"{name} of node pool {pool.name} has no effect on pods: images and data are on local disks"
                yield Found((*pool.path, name), message, "remove the field", on_key=True)
