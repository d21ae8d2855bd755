"""Keys of node labels and taints that belong to Kubernetes, Karpenter, AWS, NVIDIA or gpuc."""

from __future__ import annotations

_DOMAINS = (
    "kubernetes.io", "k8s.io", "karpenter.sh", "k8s.aws", "amazonaws.com", "eks.amazonaws.com", "nvidia.com",
    "cilium.io", "gpuc.dev",
)  # fmt: skip
"""Reserved domains, with their subdomains."""
_LABEL_DOMAINS = ("node-role.kubernetes.io", "node-restriction.kubernetes.io")
_LABELS = ("node.kubernetes.io/exclude-from-external-load-balancers",)


def reserved_domain(key: str) -> str:
    """Returns the reserved domain of a key; empty if the key is not reserved."""
    domain = key.rpartition("/")[0]
    return next((name for name in _DOMAINS if domain == name or domain.endswith(f".{name}")), "")


def is_free_label(key: str) -> bool:
    """Returns whether users may set a label although its domain is reserved.

    Karpenter sets these labels itself when it registers a node, because the kubelet may not set them.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go (IsRestrictedLabel); aws/karpenter-provider-aws
    v1.14.1 pkg/providers/amifamily/resolver.go (RejectForbiddenLabels); k8s.io/kubernetes v1.35.4
    plugin/pkg/admission/noderestriction/admission.go
    """
    domain = key.rpartition("/")[0]
    return key in _LABELS or any(domain == name or domain.endswith(f".{name}") for name in _LABEL_DOMAINS)
