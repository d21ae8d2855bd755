"""The users that create the jobs and pods of the workloads that Kueue manages in a cluster."""

from __future__ import annotations

from collections.abc import Mapping

from gpuc.kubernetes.controllers import JOB_CONTROLLER, KINDS, UPSTREAM, user
from gpuc.model import Cluster

KUEUE_ACCOUNT = "kueue-controller-manager"
"""The ServiceAccount of Kueue. The release has the name of the chart, kueue.

Source: kubernetes-sigs/kueue v0.19.2 charts/kueue/templates/rbac/service_account.yaml, _helpers.tpl
"""

_NEEDS: Mapping[str, tuple[str, ...]] = {"trainer.kubeflow.org/trainjob": ("jobset.x-k8s.io/jobset",)}
"""Frameworks whose controller also creates objects of a framework: a TrainJob consists of a JobSet."""


def controllers(cluster: Cluster) -> list[str]:
    """Returns the users that create the pods and jobs of workloads that Kueue manages."""
    own = dict(UPSTREAM) | {str(name): account for name, account in cluster.spec.kueue.controllers.items()}
    frameworks = [name for chosen in cluster.frameworks for name in (chosen, *_NEEDS.get(chosen, ()))]
    accounts = [own.get(name, "") for name in frameworks]
    return [user(account) for account in dict.fromkeys([JOB_CONTROLLER, *filter(None, accounts)])]


def queued_kinds(cluster: Cluster) -> list[str]:
    """Returns the kinds of the workloads that Kueue manages."""
    return [KINDS[name] for name in cluster.frameworks]


def kueue_user(cluster: Cluster) -> str:
    """Returns the user of Kueue's controller, which removes Kueue's scheduling gate from admitted pods."""
    return user(f"{cluster.components['kueue'].namespace}/{KUEUE_ACCOUNT}")
