"""The kinds that Kueue can manage, and the ServiceAccounts of the controllers that create their jobs and pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

JOB_CONTROLLER = "kube-system/job-controller"
"""The ServiceAccount of Kubernetes' Job controller.

Without --use-service-account-credentials, all controllers of kube-controller-manager share one user, and the policies
refuse the pods of Jobs. kubeadm sets the option. AWS does not document the option of EKS, so users have to find the
user in the audit log, in an event that creates a pod of a Job.

Source: k8s.io/kubernetes v1.35.4 cmd/kube-controller-manager/app/controllermanager.go,
cmd/kubeadm/app/phases/controlplane/manifests.go, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go;
open-policy-agent/gatekeeper issue 529 (userInfo of a pod that a controller creates)
"""

JOBSET: Final = "jobset.x-k8s.io/jobset"


class Integration(NamedTuple):
    """A kind of workloads that Kueue can manage."""

    kind: str
    controller: str = ""
    """The program that users install for the kind, in words; empty for a kind of Kubernetes."""
    account: str = ""
    """The ServiceAccount of the controller in upstream's manifests."""


INTEGRATIONS: Mapping[str, Integration] = {
    "batch/job": Integration("Job"),
    # kubernetes-sigs/jobset v0.12.0 config/default/kustomization.yaml. The chart names it jobset-controller.
    JOBSET: Integration("JobSet", "JobSet", "jobset-system/jobset-controller-manager"),
    # kubeflow/trainer v2.2.1 manifests/overlays/manager/kustomization.yaml, manifests/base/rbac/service_account.yaml
    "trainer.kubeflow.org/trainjob": Integration(
        "TrainJob", "Kubeflow Trainer", "kubeflow-system/kubeflow-trainer-controller-manager"
    ),
    # kubeflow/mpi-operator v0.8.2 deploy/v2beta1/mpi-operator.yaml
    "kubeflow.org/mpijob": Integration("MPIJob", "the MPI operator", "mpi-operator/mpi-operator"),
    # kubeflow/training-operator v1.9.3 manifests/overlays/standalone, manifests/base/rbac/service-account.yaml
    "kubeflow.org/pytorchjob": Integration(
        "PyTorchJob", "the Kubeflow Training Operator", "kubeflow/training-operator"
    ),
    # ray-project/kuberay v1.6.2 helm-chart/kuberay-operator/templates/_helpers.tpl: the name of the release. Upstream
    # names no namespace.
    "ray.io/rayjob": Integration("RayJob", "KubeRay", "kuberay-operator/kuberay-operator"),
    "ray.io/raycluster": Integration("RayCluster", "KubeRay", "kuberay-operator/kuberay-operator"),
    # kubernetes-sigs/lws v0.9.0 config/default/kustomization.yaml. The chart has the same names.
    "leaderworkerset.x-k8s.io/leaderworkerset": Integration(
        "LeaderWorkerSet", "LeaderWorkerSet", "lws-system/lws-controller-manager"
    ),
    "pod": Integration("Pod"),
    "deployment": Integration("Deployment"),
    "statefulset": Integration("StatefulSet"),
}
"""The kinds by the framework of Kueue: API group and singular name, or only the name for kinds of Kubernetes.

Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs
"""
UPSTREAM: Mapping[str, str] = {name: row.account for name, row in INTEGRATIONS.items() if row.account}
"""The ServiceAccount of the controller in upstream's manifests, by framework."""


def user(service_account: str) -> str:
    """Returns the user name of a ServiceAccount that is given as namespace/name."""
    return f"system:serviceaccount:{service_account.replace('/', ':')}"
