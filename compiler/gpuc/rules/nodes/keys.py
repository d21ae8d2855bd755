"""The labels, taints and tags of nodes."""

from __future__ import annotations

from gpuc.diagnostics.finding import Related
from gpuc.kubernetes.reserved_keys import is_free_label, reserved_domain
from gpuc.model import Cluster, Pool
from gpuc.model.names import SYSTEM_TAINT
from gpuc.model.tags import KARPENTER_TAGS, TAGS_MAX, node_tags, tag_sections
from gpuc.rules import Findings, Found, pool_rule, rule


@pool_rule(
    "KRP143", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/nodeclaim_validation.go (validateTaintsField)"
)
def repeated_taint(pool: Pool) -> Findings:
    """Two taints of a node pool have the same key and the same effect.

    Karpenter refuses the NodePool, and starts no node.
    """
    earlier: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(pool.spec.taints):
        first = earlier.setdefault((taint.key, taint.effect), index)
        if first != index:
            message = f"node pool {pool.name} has two taints with the key {taint.key} and the effect {taint.effect}"
            related = [Related("the first taint", (*pool.path, "taints", first))]
            yield Found((*pool.path, "taints", index), f"{message}; expected one", related=related)


@pool_rule("KRP141", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go")
def reserved_node_label(pool: Pool) -> Findings:
    """A node label of the spec is reserved for Kubernetes, Karpenter, AWS, NVIDIA or gpuc.

    Karpenter refuses labels of its own domain and the hostname, and starts no node. Other reserved labels change which
    instances Karpenter chooses, which pods of the GPU Operator run on the node, or which queue pays for the node.
    """
    for key in pool.spec.node_labels:
        if (domain := reserved_domain(key)) and not is_free_label(key):
            message = f"node label {key} of node pool {pool.name} has the domain {domain}, which is reserved"
            yield Found((*pool.path, "nodeLabels", key), f"{message}; expected a domain of your own")


@pool_rule("KRP142", source="kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/taints.go")
def reserved_taint(pool: Pool) -> Findings:
    """A taint of the spec is reserved for Kubernetes, Karpenter, AWS, NVIDIA or gpuc.

    Controllers add and remove these taints. A node with such a taint never becomes ready, or pods tolerate the taint by
    default.
    """
    for index, taint in enumerate(pool.spec.taints):
        if taint.key == SYSTEM_TAINT or reserved_domain(taint.key):
            message = f"the key {taint.key} of a taint of node pool {pool.name} is reserved"
            yield Found((*pool.path, "taints", index, "key"), f"{message}; expected a key with a domain of your own")


RESERVED = ("aws:", "eks:", "kubernetes.io/cluster", "karpenter.sh/", "karpenter.k8s.aws/", "gpuc.dev/")
"""Prefixes of tags that AWS, Karpenter or gpuc set."""


@rule("KRP126", source="aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/ec2nodeclass.go; Amazon EC2 User Guide, tags")
def reserved_tag(cluster: Cluster) -> Findings:
    """A tag of the spec is reserved for AWS, Karpenter or gpuc.

    The API server refuses the EC2NodeClass, or EC2 refuses the instance, so no node starts. A tag of gpuc would replace
    the value of the spec.
    """
    for path, tags in tag_sections(cluster):
        for key in tags:
            if prefix := next((prefix for prefix in RESERVED if key.lower().startswith(prefix)), ""):
                yield Found((*path, key), f"tag {key} begins with {prefix}, which is reserved; expected another key")


@rule("KRP132", source="Amazon EC2 User Guide, tags, tag restrictions")
def too_many_tags(cluster: Cluster) -> Findings:
    """The instances of a node pool get more tags than EC2 allows.

    EC2 refuses the launch of the instances, so no node starts.
    """
    for pool in cluster.pools:
        tags = node_tags(cluster, pool)
        added = [key for key in KARPENTER_TAGS if key not in tags]
        if len(tags) + len(added) > TAGS_MAX:
            message = (
                f"instances of node pool {pool.name} get {len(tags)} tags from gpuc and the spec, and {len(added)} "
                f"from Karpenter; expected at most {TAGS_MAX} in total"
            )
            yield Found(pool.path, message)
