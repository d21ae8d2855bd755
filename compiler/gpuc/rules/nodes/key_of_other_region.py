from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule


@rule("KRP150", source="Amazon EBS User Guide, Amazon EBS encryption: the KMS key is in the Region of the volume")
def key_of_other_region(cluster: Cluster) -> Findings:
    """The KMS key for the volumes of nodes is in another region than the cluster.

    EC2 cannot create the volumes, so that no node starts.
    """
    key, region = cluster.aws.volume_kms_key or "", cluster.aws.region
    if key.startswith("arn:") and (actual := key.split(":")[3]) != region:
        message = f"volumeKmsKey is a key in region {actual}; expected a key in region {region}"
        yield ("spec", "cloud", "aws", "volumeKmsKey"), message
