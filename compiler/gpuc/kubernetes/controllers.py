"""The names of the controllers of jobs, and the labels that these controllers add to pods."""

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

JOBSET: Final = "jobset.x-k8s.io/jobset"
"""The framework of Kueue for JobSets."""
JOB_NAME: Final = ("job-name", "batch.kubernetes.io/job-name")
JOBSET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOBSET_TOPOLOGY: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
"""The annotation with which each job of a JobSet gets a topology domain of its own."""


def user(service_account: str) -> str:
    """Returns the user name of a ServiceAccount. The argument has the form namespace/name."""
    return f"system:serviceaccount:{service_account.replace('/', ':')}"
