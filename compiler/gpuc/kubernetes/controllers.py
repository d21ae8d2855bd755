"""The kinds that Kueue can manage, and the ServiceAccounts of the controllers that create their jobs and pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

JOB_CONTROLLER = "kube-system/job-controller"
"""The ServiceAccount of Kubernetes' Job controller.

Without --use-service-account-credentials, all controllers of kube-controller-manager share one user, and the policies
refuse the pods of Jobs. kubeadm sets the option. AWS does not document the option of EKS, so users have to find the
user in the audit log, in an event that creates a pod of a Job.

Source: k8s.io/kubernetes v1.35.4 cmd/kube-controller-manager/app/controllermanager.go,
cmd/kubeadm/app/phases/controlplane/manifests.go, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go;
open-policy-agent/gatekeeper issue 529 (userInfo of a pod that a controller creates)
"""

KINDS: Mapping[str, str] = {
    "batch/job": "Job",
    "jobset.x-k8s.io/jobset": "JobSet",
    "trainer.kubeflow.org/trainjob": "TrainJob",
    "kubeflow.org/mpijob": "MPIJob",
    "kubeflow.org/pytorchjob": "PyTorchJob",
    "ray.io/rayjob": "RayJob",
    "ray.io/raycluster": "RayCluster",
    "leaderworkerset.x-k8s.io/leaderworkerset": "LeaderWorkerSet",
    "pod": "Pod",
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
}
"""The kind that each framework of Kueue manages.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs
"""

JOBSET: Final = "jobset.x-k8s.io/jobset"
UPSTREAM: Mapping[str, str] = {
    # kubernetes-sigs/jobset v0.12.0 config/default/kustomization.yaml. The chart names it jobset-controller.
    JOBSET: "jobset-system/jobset-controller-manager",
    # kubeflow/trainer v2.2.1 manifests/overlays/manager/kustomization.yaml, manifests/base/rbac/service_account.yaml
    "trainer.kubeflow.org/trainjob": "kubeflow-system/kubeflow-trainer-controller-manager",
    # kubeflow/mpi-operator v0.8.2 deploy/v2beta1/mpi-operator.yaml
    "kubeflow.org/mpijob": "mpi-operator/mpi-operator",
    # kubeflow/training-operator v1.9.3 manifests/overlays/standalone, manifests/base/rbac/service-account.yaml
    "kubeflow.org/pytorchjob": "kubeflow/training-operator",
    # ray-project/kuberay v1.6.2 helm-chart/kuberay-operator/templates/_helpers.tpl: the name of the release. Upstream
    # names no namespace.
    "ray.io/rayjob": "kuberay-operator/kuberay-operator",
    "ray.io/raycluster": "kuberay-operator/kuberay-operator",
    # kubernetes-sigs/lws v0.9.0 config/default/kustomization.yaml. The chart has the same names.
    "leaderworkerset.x-k8s.io/leaderworkerset": "lws-system/lws-controller-manager",
}
"""The ServiceAccount of the controller in upstream's manifests, by framework."""


def user(service_account: str) -> str:
    """Returns the user name of a ServiceAccount that is given as namespace/name."""
    return f"system:serviceaccount:{service_account.replace('/', ':')}"
