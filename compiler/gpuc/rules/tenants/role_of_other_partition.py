from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule

PARTITIONS = {"cn": "aws-cn", "us-gov": "aws-us-gov"}
"""Partitions of AWS by the begin of the names of their regions. All other regions are in the partition aws."""


@rule("TEN111", source="AWS General Reference, Amazon Resource Names: partitions")
def role_of_other_partition(cluster: Cluster) -> Findings:
    """The IAM role of a ServiceAccount is in another partition of AWS than the cluster.

    EKS refuses the association. Accounts and roles of one partition do not exist in another partition.
    """
    region = cluster.aws.region
    expected = next((value for key, value in PARTITIONS.items() if region.startswith(f"{key}-")), "aws")
    for _, namespace in cluster.namespaces:
        for name, account in namespace.spec.service_accounts.items():
            actual = account.role.split(":")[1]
            if actual != expected:
                message = f"role of ServiceAccount {name} is in partition {actual}; expected {expected} for {region}"
                yield (*namespace.path, "serviceAccounts", name, "role"), message
