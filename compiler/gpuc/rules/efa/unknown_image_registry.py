from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("EFA109", source="Amazon EKS User Guide, add-ons-images; catalog/registries.json")
def unknown_image_registry(cluster: Cluster) -> Findings:
    """The region has no known image registry for the EFA device plugin.

    The chart of the EFA device plugin names the registry of us-west-2. If the VPC has no route to us-west-2, the nodes
    cannot pull the image, never advertise EFA, and Karpenter never marks the nodes as initialized.
    """
    if cluster.efa_pools and not cluster.add_on_registry:
        message = f"region {cluster.aws.region} has no registry for EKS add-ons in the catalog of gpuc"
        fix = "set cloud.aws.addOnRegistry to the registry of the region in the EKS User Guide, or correct the region"
        yield ("spec", "cloud", "aws", "region"), message, fix
