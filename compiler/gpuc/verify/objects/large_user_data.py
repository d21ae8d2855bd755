from __future__ import annotations

from gpuc.objects.object_finding import ObjectFinding
from gpuc.spec.node_settings import USER_DATA_MAX
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject

KARPENTER_BYTES = 4096
"""Space for the part of Karpenter: the certificate of the API server (1.5 KiB), labels and taints of the node."""


@check("KRP146", source="Amazon EC2 User Guide, instance user data")
def large_user_data(subject: Subject) -> Findings:
    """The user data of a node is larger than EC2 allows.

    EC2 refuses the launch template, so no node starts.
    """
    for manifest in subject.objects.of("karpenter.k8s.aws", "EC2NodeClass"):
        text = manifest.body.get("spec", {}).get("userData")
        if not isinstance(text, str) or len(text.encode()) + KARPENTER_BYTES <= USER_DATA_MAX:
            continue
        message = f"has {len(text.encode())} bytes; expected at most {USER_DATA_MAX - KARPENTER_BYTES}"
        reason = f"EC2 allows {USER_DATA_MAX}, and Karpenter adds up to {KARPENTER_BYTES}"
        yield ObjectFinding(large_user_data.rule, manifest, ("spec", "userData"), f"{message}, because {reason}")
