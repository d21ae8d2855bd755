"""Rules about the AWS tags of nodes."""

from gpuc.diagnostics.finding import Severity
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.substrates.eks.tags import KARPENTER_TAGS, TAGS_MAX, node_tags, tag_sections

RESERVED = ("aws:", "eks:", "kubernetes.io/cluster", "karpenter.sh/", "karpenter.k8s.aws/", "gpuc.dev/")
"""Prefixes of tags that AWS, Karpenter or gpuc set."""


@rule("KRP126")
def reserved_tag(cluster: Cluster) -> Findings:
    """A tag in the spec has a key that only AWS, Karpenter or gpuc may set."""
    for path, tags in tag_sections(cluster):
        for key in tags:
            if prefix := next((prefix for prefix in RESERVED if key.lower().startswith(prefix)), ""):
                yield Found((*path, key), f"tag {key} begins with {prefix}, which is reserved; expected another key")


@rule("KRP132")
def too_many_tags(cluster: Cluster) -> Findings:
    """The instances of a node pool get more tags than EC2 allows."""
    for pool in cluster.pools:
        tags = node_tags(cluster, pool)
        added = [key for key in KARPENTER_TAGS if key not in tags]
        if len(tags) + len(added) > TAGS_MAX:
            actual = f"instances of node pool {pool.name} get {len(tags)} tags from gpuc and the spec"
            expected = f"expected at most {TAGS_MAX} in total"
            yield Found(pool.path, f"{actual}, and {len(added)} from Karpenter; {expected}")


@rule("TEN115", Severity.WARNING)
def tags_without_dedicated_pool(cluster: Cluster) -> Findings:
    """A tenant has tags, but no node pool is dedicated to the tenant."""
    dedicated = {pool.dedicated_to for pool in cluster.pools}
    for tenant in cluster.tenants:
        if tenant.spec.tags and tenant.name not in dedicated:
            message = f"tags of tenant {tenant.name} have no effect: no node pool is dedicated to the tenant"
            yield Found((*tenant.path, "tags"), message, "move the tags to the node pools of the tenant")
