"""Finds objects with API versions that Kubernetes or Karpenter no longer serves.

Source: https://kubernetes.io/docs/reference/using-api/deprecation-guide/
"""

from gpuc.lint import rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding

REMOVED = rule_of("LNT011")
_ROWS = (
    ("extensions/v1beta1", "DaemonSet Deployment ReplicaSet", 16, "apps/v1"),
    ("extensions/v1beta1", "NetworkPolicy", 16, "networking.k8s.io/v1"),
    ("extensions/v1beta1", "PodSecurityPolicy", 16, "Pod Security"),
    ("apps/v1beta1", "Deployment ReplicaSet StatefulSet", 16, "apps/v1"),
    ("apps/v1beta2", "DaemonSet Deployment ReplicaSet StatefulSet", 16, "apps/v1"),
    ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration ValidatingWebhookConfiguration", 22, ""),
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22, ""),
    ("apiregistration.k8s.io/v1beta1", "APIService", 22, ""),
    ("authentication.k8s.io/v1beta1", "TokenReview", 22, ""),
    ("authorization.k8s.io/v1beta1", "LocalSubjectAccessReview SelfSubjectAccessReview SubjectAccessReview", 22, ""),
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest", 22, ""),
    ("coordination.k8s.io/v1beta1", "Lease", 22, ""),
    ("extensions/v1beta1", "Ingress", 22, "networking.k8s.io/v1"),
    ("networking.k8s.io/v1beta1", "Ingress IngressClass", 22, ""),
    ("rbac.authorization.k8s.io/v1beta1", "ClusterRole ClusterRoleBinding Role RoleBinding", 22, ""),
    ("scheduling.k8s.io/v1beta1", "PriorityClass", 22, ""),
    ("storage.k8s.io/v1beta1", "CSIDriver CSINode StorageClass VolumeAttachment", 22, ""),
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler", 25, "autoscaling/v2"),
    ("batch/v1beta1", "CronJob", 25, ""),
    ("discovery.k8s.io/v1beta1", "EndpointSlice", 25, ""),
    ("events.k8s.io/v1beta1", "Event", 25, ""),
    ("node.k8s.io/v1beta1", "RuntimeClass", 25, ""),
    ("policy/v1beta1", "PodDisruptionBudget", 25, ""),
    ("policy/v1beta1", "PodSecurityPolicy", 25, "Pod Security"),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 26, "autoscaling/v2"),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema PriorityLevelConfiguration", 26, ""),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity", 27, ""),
    ("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema PriorityLevelConfiguration", 29, ""),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema PriorityLevelConfiguration", 32, ""),
)
"""The version, its kinds, the minor version of Kubernetes 1 that removed it, and what to use; empty for GROUP/v1."""
_OF_KARPENTER = {
    ("karpenter.sh/v1alpha5", "Provisioner"): ("0.33", "NodePool of karpenter.sh/v1"),
    ("karpenter.sh/v1alpha5", "Machine"): ("0.33", "NodeClaim of karpenter.sh/v1"),
    ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate"): ("0.33", "EC2NodeClass of karpenter.k8s.aws/v1"),
    ("karpenter.sh/v1beta1", "NodePool"): ("1.1", "karpenter.sh/v1"),
    ("karpenter.sh/v1beta1", "NodeClaim"): ("1.1", "karpenter.sh/v1"),
    ("karpenter.k8s.aws/v1beta1", "EC2NodeClass"): ("1.1", "karpenter.k8s.aws/v1"),
}
"""The version of Karpenter that removed a version of a kind, and what to use.

Source: aws/karpenter-provider-aws v1.14.1 website/content/en/preview/upgrading/upgrade-guide.md (0.33.0 and 1.1.0)
"""
_WITHOUT_OLD_KARPENTER = 32
"""The minor version of Kubernetes from which no version of Karpenter that serves these kinds supports it.

Source: aws/karpenter-provider-aws v1.14.1 website/content/en/preview/upgrading/compatibility.md (1.32: >= 1.2)
"""
_REMOVED = {(api, kind): (minor, use) for api, kinds, minor, use in _ROWS for kind in kinds.split()}


def removed(manifest: Manifest, kubernetes: str) -> ObjectFinding | None:
    """Returns the finding about an object whose API version is no longer served; None for other objects.

    Args:
        kubernetes: the cluster's minor version, for example "1.35".
    """
    newest = int(kubernetes.partition(".")[2])
    if newest >= _WITHOUT_OLD_KARPENTER and (manifest.api, manifest.kind) in _OF_KARPENTER:
        version, use = _OF_KARPENTER[manifest.api, manifest.kind]
        message = f"Karpenter {version} removed {manifest.kind} of {manifest.api}; use {use}"
        return ObjectFinding(REMOVED, manifest, ("apiVersion",), message)
    minor, use = _REMOVED.get((manifest.api, manifest.kind), (0, ""))
    if not minor or newest < minor:
        return None
    use = use or f"{manifest.api.partition('/')[0]}/v1"
    message = f"Kubernetes 1.{minor} removed {manifest.kind} of {manifest.api}; use {use}"
    return ObjectFinding(REMOVED, manifest, ("apiVersion",), message, f"write {use}" if "/" in use else "")
