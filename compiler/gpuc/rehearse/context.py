"""The context of test cases: the compiled spec, a client of the rehearsed control plane, and timeouts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import POLL_SECONDS, Client, Object, WaitError

HOLD = {"gpuc.dev/rehearsal": "hold"}
"""Annotation of a pod that must run until its deletion. A Job's pod without this annotation completes immediately."""
_REPLICATED_KINDS = (("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"))
"""Kinds whose controllers replace deleted pods."""
_TENANT_KINDS = (("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("v1", "Pod"))
_WORKLOAD = ("kueue.x-k8s.io/v1beta2", "Workload")
_NODES = (("karpenter.sh/v1", "NodeClaim"), ("v1", "Node"))


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Maximum duration of each step of a test case, in seconds."""

    admission_s: float = 15
    """Kueue admits the workload, or reports why the workload is not admitted."""
    node_s: float = 30
    """Karpenter starts the node, and the scheduler binds the pod. Karpenter retries only every ten seconds."""
    completion_s: float = 30
    """A Job whose pods are bound completes."""
    removal_s: float = 30
    """The API server no longer has the deleted objects and nodes."""


@dataclass(frozen=True)
class RehearsalContext:
    """A rehearsed cluster after all objects are applied and the waits for health have ended."""

    spec: CompiledSpec
    client: Client
    timeouts: Timeouts = field(default_factory=Timeouts)
    poll_s: float = POLL_SECONDS
    """Seconds between two polls."""

    @property
    def cluster(self) -> Cluster:
        """The model from which expected outcomes are computed."""
        return self.spec.cluster

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of all tenants; the namespace default in a cluster without tenants."""
        return self.cluster.tenant_namespaces or ("default",)

    def workload_of(self, owner: Object) -> Object | None:
        """Returns the Workload that Kueue created for a Job, a JobSet or a Pod; None if no Workload exists."""
        uid = owner["metadata"]["uid"]
        for workload in self.client.list_all(*_WORKLOAD, owner["metadata"]["namespace"]):
            if any(reference["uid"] == uid for reference in workload["metadata"].get("ownerReferences", ())):
                return workload
        return None

    def pods_of(self, job: Object) -> list[Object]:
        """Returns the pods of a Job."""
        metadata = job["metadata"]
        return self.client.list_all(
            "v1", "Pod", metadata["namespace"], f"batch.kubernetes.io/job-name={metadata['name']}"
        )

    def nodes(self, pool: str = "") -> list[Object]:
        """Returns the nodes of a pool, or of all pools if no pool is named."""
        return self.client.list_all("v1", "Node", labels=f"{POOL_LABEL}={pool}" if pool else POOL_LABEL)

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        """Returns (reason, message) of every event about an object."""
        return self.client.events(document)

    def until(self, description: str, is_reached: Callable[[], bool], timeout_s: float) -> None:
        """Waits until a condition is reached.

        Raises:
            WaitError: if the condition is not reached in time; the message contains the description.
        """
        deadline = time.monotonic() + timeout_s
        while not is_reached():
            if time.monotonic() > deadline:
                raise WaitError(f"timeout after {timeout_s:.0f} s: {description}")
            time.sleep(self.poll_s)

    def clear(self, *, nodes: bool = True) -> None:
        """Deletes the workloads of all tenants and their pods, and the nodes of all NodePools that are not static.

        Raises:
            WaitError: if the API server still has one of the objects after the timeout.
        """
        self._delete_kinds(list(_REPLICATED_KINDS))
        self._delete_kinds([kind for kind in _TENANT_KINDS if self.client.serves(*kind)])
        self._delete_kinds([_WORKLOAD])
        if nodes:
            self._remove_nodes()

    def _delete_kinds(self, kinds: list[tuple[str, str]]) -> None:
        for kind in kinds:
            for namespace in {document["metadata"]["namespace"] for document in self._in_namespaces(kind)}:
                self.client.delete_all(*kind, namespace)
        names = ", ".join(name for _, name in kinds)
        self.until(f"deletion of {names}", lambda: not any(map(self._in_namespaces, kinds)), self.timeouts.removal_s)

    def _in_namespaces(self, kind: tuple[str, str]) -> list[Object]:
        documents = self.client.list_all(*kind)
        return [document for document in documents if document["metadata"]["namespace"] in self.namespaces]

    def _remove_nodes(self) -> None:
        """Deletes nodes without Karpenter's draining, which takes time and has no effect on nodes without pods."""
        static = ",".join(sorted(filter(None, (pool.static_node_pool for pool in self.cluster.pools))))
        selector = NODE_POOL + (f",{NODE_POOL} notin ({static})" if static else "")

        def remaining() -> list[Object]:
            return [node for kind in _NODES for node in self.client.list_all(*kind, labels=selector)]

        for kind in _NODES:
            self.client.delete_all(*kind, labels=selector)
        for node in remaining():
            self.client.remove_finalizers(node)
        self.until("deletion of all nodes", lambda: not remaining(), self.timeouts.removal_s)
