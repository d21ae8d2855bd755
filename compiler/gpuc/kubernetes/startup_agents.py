"""Agents that take a startup taint away although no object of a tree need mention it."""

from __future__ import annotations

AGENTS = {
    "ebs.csi.aws.com/agent-not-ready": "the EBS CSI driver",
    "efs.csi.aws.com/agent-not-ready": "the EFS CSI driver",
    "fsx.csi.aws.com/agent-not-ready": "the FSx CSI driver",
    "node.cilium.io/agent-not-ready": "Cilium's agent",
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager",
    "s3.csi.aws.com/agent-not-ready": "the Mountpoint for S3 CSI driver",
}
"""By the taint's key.

Source: documentation of Cilium (taints and unmanaged pods), kubernetes-sigs/aws-ebs-csi-driver docs/install.md and the
same file of the other drivers
"""
_GROUPS = {"readiness.k8s.io/": "the node readiness controller", "karpenter.sh/": "Karpenter"}


def agent_of(key: str) -> str:
    """Who takes a taint away; empty where no agent is known for it."""
    return AGENTS.get(key) or next((who for beginning, who in _GROUPS.items() if key.startswith(beginning)), "")
