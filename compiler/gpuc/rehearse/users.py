"""Users of requests: policies decide by the user of a request who may create and start pods with GPUs."""

from __future__ import annotations

from gpuc.emit.controllers import kueue_user
from gpuc.kubernetes.controllers import JOB_CONTROLLER, user
from gpuc.kubernetes.kueue import GATE
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.plane.site import ADMINISTRATORS
from gpuc.rehearse.sample_workloads import WorkloadFactory, requests_gpu

KUEUE_GATE = {"name": GATE}
"""Kueue's scheduling gate."""


def with_user(client: Client, name: str) -> Client:
    """Returns a client that sends requests with a user name and the rights of an administrator.

    Returns the same client if the name is empty.
    """
    return client.impersonate(name, ADMINISTRATORS) if name else client


def job_controller() -> str:
    """Returns the user name of Kubernetes' Job controller, which creates the pods of Jobs."""
    return user(JOB_CONTROLLER)


def kueue_controller(cluster: Cluster) -> str:
    """Returns the user name of Kueue, which removes the scheduling gate from admitted pods."""
    return kueue_user(cluster)


def creator(factory: WorkloadFactory, document: Object) -> str:
    """Returns the user that creates an object of a tenant in a cluster; empty for a member of the tenant.

    The Job controller creates pods with GPUs that Kueue counts.
    """
    if document["kind"] != "Pod" or not requests_gpu(document["spec"]):
        return ""
    pool = document["spec"].get("nodeSelector", {}).get(POOL_LABEL, "")
    return "" if pool in {quota.pool.name for quota in factory.namespace.quotas} else job_controller()
