"""Agents that remove a startup taint and may not be among the objects."""

from __future__ import annotations

AGENTS = {
    "ebs.csi.aws.com/agent-not-ready": "the EBS CSI driver",
    "efs.csi.aws.com/agent-not-ready": "the EFS CSI driver",
    "fsx.csi.aws.com/agent-not-ready": "the FSx CSI driver",
    "node.cilium.io/agent-not-ready": "Cilium's agent",
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager",
    "s3.csi.aws.com/agent-not-ready": "the Mountpoint for S3 CSI driver",
}
"""Agents by the key of the taint.

Source: documentation of Cilium (taints and unmanaged pods), kubernetes-sigs/aws-ebs-csi-driver docs/install.md and the
same file of the other drivers
"""
_PREFIXES = {"readiness.k8s.io/": "the node readiness controller", "karpenter.sh/": "Karpenter"}


def agent_of(key: str) -> str:
    """Returns the agent that removes a taint; empty if no agent is known."""
    return AGENTS.get(key) or next((agent for prefix, agent in _PREFIXES.items() if key.startswith(prefix)), "")
