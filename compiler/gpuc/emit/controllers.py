"""Users that create the objects of queued workloads: controllers of Kubernetes, and of the frameworks of Kueue."""

from __future__ import annotations

from collections.abc import Mapping

from gpuc.model import Cluster

JOB_CONTROLLER = "kube-system/job-controller"
"""The ServiceAccount of Kubernetes' Job controller.

Source: Kubernetes documentation, reference/access-authn-authz/rbac, controller roles
"""

UPSTREAM: Mapping[str, str] = {
    "jobset.x-k8s.io/jobset": "jobset-system/jobset-controller-manager",
    "trainer.kubeflow.org/trainjob": "kubeflow-system/kubeflow-trainer-controller-manager",
    "kubeflow.org/mpijob": "mpi-operator/mpi-operator",
    "kubeflow.org/pytorchjob": "kubeflow/training-operator",
    "ray.io/rayjob": "kuberay-operator/kuberay-operator",
    "ray.io/raycluster": "kuberay-operator/kuberay-operator",
    "leaderworkerset.x-k8s.io/leaderworkerset": "lws-system/lws-controller-manager",
}
"""The ServiceAccount of the controller in upstream's manifests, by framework."""


def controllers(cluster: Cluster) -> list[str]:
    """Returns the users that create the pods and jobs of workloads that Kueue manages."""
    own = cluster.spec.kueue.controllers
    accounts = [own.get(name, UPSTREAM.get(name, "")) for name in cluster.spec.kueue.frameworks]
    return [user(account) for account in dict.fromkeys([JOB_CONTROLLER, *filter(None, accounts)])]


def kueue_user(cluster: Cluster) -> str:
    """Returns the user of Kueue's controller, which removes Kueue's scheduling gate from admitted pods."""
    return user(f"{cluster.components['kueue'].namespace}/kueue-controller-manager")


def user(service_account: str) -> str:
    """Returns the user name of a ServiceAccount that is given as namespace/name."""
    return f"system:serviceaccount:{service_account.replace('/', ':')}"
