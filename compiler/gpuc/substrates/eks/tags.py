"""Computes the AWS tags of the resources of node pools. AWS Cost Explorer can divide the costs by these tags."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path
from gpuc.model.cluster import Cluster
from gpuc.model.names import COST_LABEL, ENVIRONMENT_LABEL, POOL_LABEL, TENANT_KEY
from gpuc.model.pool import Pool
from gpuc.substrates.eks.scaling import aws, eks

CLUSTER_TAG = "gpuc.dev/cluster"

KARPENTER_TAGS = (
    "Name", "eks:eks-cluster-name", "karpenter.k8s.aws/ec2nodeclass", "karpenter.sh/nodeclaim", "karpenter.sh/nodepool",
    "kubernetes.io/cluster/<cluster>",
)  # fmt: skip
"""The tags that Karpenter adds to an instance. Karpenter keeps a tag Name of the EC2NodeClass.

Source: aws/karpenter-provider-aws v1.14.1 pkg/utils/utils.go (GetTags), pkg/controllers/nodeclaim/tagging
"""
TAGS_MAX = 50
"""The largest number of tags of a resource. Tags that AWS adds do not count.

Source: Amazon EC2 User Guide, tags, tag restrictions
"""


def tag_sections(cluster: Cluster) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yields the maps of AWS tags in the spec, each with its path: the tags of the cluster, of pools and of tenants."""
    yield ("spec", "cloud", "aws", "tags"), aws(cluster).tags
    yield from (((*eks(pool).path, "tags"), eks(pool).spec.tags) for pool in cluster.pools)
    yield from (((*tenant.path, "tags"), tenant.spec.tags) for tenant in cluster.tenants)


def node_tags(cluster: Cluster, pool: Pool) -> dict[str, str]:
    """Returns the AWS tags in the EC2NodeClass of a pool, sorted by key.

    Karpenter sets the tags on instances, volumes, network interfaces, launch templates, fleets, requests for spot
    instances and the instance profile. A tag of gpuc replaces a tag of the spec with the same key.

    A change of a tag replaces the nodes (drift), because Karpenter does not change the tags of instances. The tags
    therefore do not depend on queues and quotas: a new tenant of a pool must not replace its nodes. Only a dedicated
    tenant sets tags, because its pool also gets a taint.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go (Hash, Tags, InstanceProfileTags),
    pkg/providers/instance/types.go (NewCreateFleetInputBuilder), pkg/providers/launchtemplate/types.go (Build)
    """
    tenants = [tenant for tenant in cluster.tenants if tenant.name == pool.dedicated_to]
    tags = dict(aws(cluster).tags)
    for tenant in tenants:
        tags |= tenant.spec.tags
    tags |= {**eks(pool).spec.tags, CLUSTER_TAG: cluster.name, POOL_LABEL: pool.name}
    tags[ENVIRONMENT_LABEL] = cluster.spec.environment
    for tenant in tenants:
        tags |= {TENANT_KEY: tenant.name, COST_LABEL: tenant.spec.cost_centre}
    if (cost_centre := eks(pool).spec.cost_centre) is not None:
        tags[COST_LABEL] = cost_centre
    return dict(sorted(tags.items()))
