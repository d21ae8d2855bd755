"""Keys of labels and annotations that programs read, so that a value of a user would change what the programs do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReservedKey:
    """A key, or all keys of a domain, with the program that reads them."""

    key: str
    """A key; or a domain and "/", for the keys of the domain and of its subdomains; or a text that ends with ".", for
    the keys that start with the text.
    """
    effect: str
    """What the program does with the keys, as the second half of a sentence."""
    source: str
    of_nodes: bool = False
    """Whether programs also read the keys of labels and taints of nodes."""
    by_cloud: bool = False
    """Whether nodes get labels of the domain from Kubernetes or the cloud even if their node pool sets none."""

    def reserves(self, key: str) -> bool:
        """Returns whether the entry is about a key."""
        return _covers(self.key, key)


FREE = ("app.kubernetes.io/part-of", "app.kubernetes.io/version")
"""Keys of a reserved domain that no program reads."""
_FREE_ON_NODES = (
    "node-role.kubernetes.io/", "node-restriction.kubernetes.io/",
    "node.kubernetes.io/exclude-from-external-load-balancers",
)  # fmt: skip

RESERVED = (
    ReservedKey(
        "gpuc.dev/", "gpuc finds tenants, pools and costs by these keys",
        "compiler/gpuc/model/names.py",
        of_nodes=True,
    ),
    ReservedKey(
        "description", "gpuc describes policies with this annotation",
        "compiler/gpuc/emit/gatekeeper.py",
    ),
    ReservedKey(
        "kubernetes.io/", "Kubernetes and Argo CD read these keys, for example the Pod Security level of a namespace",
        "Kubernetes documentation, well-known labels, annotations and taints; argoproj/argo-cd v3.5.1 "
        "common/common.go (app.kubernetes.io/instance, app.kubernetes.io/name); NVIDIA/gpu-operator v26.7.0 "
        "controllers/upgrade_controller.go (app.kubernetes.io/component)",
        of_nodes=True, by_cloud=True,
    ),
    ReservedKey(
        "k8s.io/", "Kubernetes and its projects read these keys",
        "Kubernetes documentation, labels and selectors, reserved prefixes",
        of_nodes=True, by_cloud=True,
    ),
    ReservedKey(
        "x-k8s.io/", "Kueue and other projects of Kubernetes read these keys, for example the queue of a Job",
        "kubernetes-sigs/kueue v0.19.2 pkg/controller/constants/constants.go",
    ),
    ReservedKey(
        "argocd.argoproj.io/", "Argo CD reads sync options, waves, hooks and the owner of an object from these keys",
        "argoproj/argo-cd v3.5.1 common/common.go, gitops-engine/pkg/sync/common/types.go",
    ),
    ReservedKey(
        "applications.argoproj.io/", "Argo CD reads the owner of an object from these keys",
        "argoproj/argo-cd v3.5.1 common/common.go (LabelKeyLegacyApplicationName)",
    ),
    ReservedKey(
        "helm.sh/", "Argo CD runs hooks of Helm, and Helm takes over objects, because of these keys",
        "argoproj/argo-cd v3.5.1 gitops-engine/pkg/sync/hook/helm, util/helm/helm.go",
    ),
    ReservedKey(
        "gatekeeper.sh/", "Gatekeeper ignores namespaces, and manages policies, by these keys",
        "open-policy-agent/gatekeeper v3.23.0 pkg/webhook/namespacelabel.go (admission.gatekeeper.sh/ignore)",
    ),
    ReservedKey(
        "karpenter.sh/", "Karpenter keeps hashes of NodePools, and does not disrupt nodes, because of these keys",
        "kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go",
        of_nodes=True,
    ),
    ReservedKey(
        "k8s.aws/", "Karpenter keeps hashes and instance profiles of EC2NodeClasses in these keys",
        "aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go (karpenter.k8s.aws)",
        of_nodes=True, by_cloud=True,
    ),
    ReservedKey(
        "amazonaws.com/", "EKS gives pods IAM roles and network interfaces by these keys",
        "Amazon EKS User Guide, IAM roles for service accounts (eks.amazonaws.com/role-arn), Control if a workload is "
        "deployed on EKS Auto Mode nodes (eks.amazonaws.com/compute-type is auto on each of these nodes)",
        of_nodes=True, by_cloud=True,
    ),
    ReservedKey(
        "nvidia.com/", "the GPU Operator reads these keys",
        "NVIDIA/gpu-operator v26.7.0 controllers/state_manager.go, controllers/object_controls.go",
        of_nodes=True,
    ),
    ReservedKey(
        "cilium.io/", "Cilium assigns addresses, and lets pods send from other addresses, because of these keys",
        "cilium/cilium v1.20.2 pkg/annotation/k8s.go (IPAMPoolKey, DelegateSourceIPVerification)",
        of_nodes=True,
    ),
    ReservedKey(
        "io.cilium/", "Cilium connects Services of several clusters by these keys",
        "cilium/cilium v1.20.2 pkg/annotation/k8s.go (GlobalServiceAlias)",
    ),
    ReservedKey(
        "io.cilium.", "Cilium reads the names of policies, and labels of pods and namespaces, from these keys",
        "cilium/cilium v1.20.2 pkg/annotation/k8s.go (PolicyNameAlias), pkg/k8s/apis/cilium.io/const.go",
    ),
    ReservedKey(
        "cert-manager.io/", "cert-manager injects certificates, and skips validation, because of these keys",
        "cert-manager/cert-manager v1.21.1 pkg/apis/certmanager/v1/types.go",
    ),
    ReservedKey(
        "istio-injection", "Istio adds a container, which the quota does not contain, to all pods of the namespace",
        "Istio documentation, resource labels",
    ),
    ReservedKey(
        "istio.io/", "Istio adds a container, which the quota does not contain, to all pods of the namespace",
        "Istio documentation, resource labels (istio.io/rev, istio.io/dataplane-mode)",
    ),
    ReservedKey(
        "linkerd.io/", "Linkerd adds a container, which the quota does not contain, to all pods of the namespace",
        "Linkerd documentation, automatic proxy injection (linkerd.io/inject)",
    ),
    ReservedKey(
        "release", "Prometheus selects monitors and rules by this label",
        "prometheus-community/helm-charts kube-prometheus-stack values.yaml (ruleSelectorNilUsesHelmValues)",
    ),
    ReservedKey(
        "app", "ServiceMonitors select Services by this label",
        "NVIDIA/gpu-operator v26.7.0 assets/state-dcgm-exporter",
    ),
)  # fmt: skip
"""The keys of all programs that gpuc installs, and of programs that change pods because of a label of a namespace."""


def reserved_key(key: str) -> ReservedKey | None:
    """Returns the entry that reserves a key of a label or an annotation; None for a free key."""
    if key in FREE:
        return None
    return next((entry for entry in RESERVED if entry.reserves(key)), None)


def reserved_domain(key: str) -> str:
    """Returns the reserved domain of the key of a node label or a taint; empty if the key is not reserved."""
    return next((entry.key[:-1] for entry in RESERVED if entry.of_nodes and entry.reserves(key)), "")


def is_free_label(key: str) -> bool:
    """Returns whether users may set a node label although its domain is reserved.

    Karpenter sets these labels itself when it registers a node, because the kubelet may not set them.

    Source: kubernetes-sigs/karpenter v1.14.1 pkg/apis/v1/labels.go (IsRestrictedLabel); aws/karpenter-provider-aws
    v1.14.1 pkg/providers/amifamily/resolver.go (RejectForbiddenLabels); k8s.io/kubernetes v1.35.4
    plugin/pkg/admission/noderestriction/admission.go
    """
    return any(_covers(free, key) for free in _FREE_ON_NODES)


def is_by_cloud(key: str) -> bool:
    """Returns whether nodes can have a label with the key even if their node pool does not set it."""
    return any(entry.by_cloud and entry.reserves(key) for entry in RESERVED)


def _covers(entry: str, key: str) -> bool:
    if entry.endswith("."):
        return key.startswith(entry)
    return key == entry or (entry.endswith("/") and f".{key.rpartition('/')[0]}/".endswith(f".{entry}"))
