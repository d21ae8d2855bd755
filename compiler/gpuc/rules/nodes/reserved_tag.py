from __future__ import annotations

from gpuc.model import Cluster
from gpuc.model.tags import tag_sections
from gpuc.rules import Findings, rule

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
                yield (*path, key), f"tag {key} begins with {prefix}, which is reserved; expected another key"
