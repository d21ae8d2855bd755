"""Agents that remove startup taints, although their objects may not be in the linted files."""

from __future__ import annotations

AGENTS = {
    "ebs.csi.aws.com/agent-not-ready": "the EBS CSI driver",
    "efs.csi.aws.com/agent-not-ready": "the EFS CSI driver",
    "fsx.csi.aws.com/agent-not-ready": "the FSx CSI driver",
    "node.cilium.io/agent-not-ready": "Cilium's agent",
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager",
    "s3.csi.aws.com/agent-not-ready": "the Mountpoint for S3 CSI driver",
}
"""Agents by the key of the taint that the agent removes.

Source: documentation of Cilium (taints and unmanaged pods); docs/install.md of kubernetes-sigs/aws-ebs-csi-driver and
of the repositories of the other CSI drivers
"""
_PREFIXES = {"readiness.k8s.io/": "the node readiness controller", "karpenter.sh/": "Karpenter"}


def agent_of(key: str) -> str:
    """Returns the agent that removes the taint with a key; the empty string if no agent is known."""
    return AGENTS.get(key) or next((agent for prefix, agent in _PREFIXES.items() if key.startswith(prefix)), "")
