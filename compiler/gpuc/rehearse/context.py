"""The context of test cases: the compiled cluster, a client of its control plane, and timeouts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import POLL_SECONDS, Client, Object, WaitError

HOLD = {"gpuc.dev/rehearsal": "hold"}
"""Annotation of a pod that must run until it is deleted. Without it, a Job's pod completes right after its start."""
_WORK = (("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("v1", "Pod"))
_WORKLOAD = ("kueue.x-k8s.io/v1beta2", "Workload")
_NODES = (("karpenter.sh/v1", "NodeClaim"), ("v1", "Node"))
_NODEPOOL_LABEL = "karpenter.sh/nodepool"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds after which an expected event counts as missing."""

    admission_s: float = 15
    """Kueue admits the workload, or reports why it does not."""
    node_s: float = 30
    """Karpenter starts the node and the pod is bound. Karpenter retries only every ten seconds."""
    completion_s: float = 30
    """A Job whose pods are bound completes."""
    removal_s: float = 30
    """Deleted objects are gone, including nodes."""


@dataclass(frozen=True)
class RehearsalContext:
    """A cluster whose objects are applied and healthy."""

    spec: CompiledSpec
    client: Client
    timeouts: Timeouts = field(default_factory=Timeouts)
    poll_s: float = POLL_SECONDS
    """Seconds between two polls."""

    @property
    def cluster(self) -> Cluster:
        """The model from which expectations are computed."""
        return self.spec.cluster

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of all tenants."""
        return self.cluster.tenant_namespaces

    def workload_of(self, owner: Object) -> Object | None:
        """The Workload that Kueue created for a Job, a JobSet or a Pod, or None."""
        uid = owner["metadata"]["uid"]
        for workload in self.client.list_all(*_WORKLOAD, owner["metadata"]["namespace"]):
            if any(reference["uid"] == uid for reference in workload["metadata"].get("ownerReferences", ())):
                return workload
        return None

    def pods_of(self, job: Object) -> list[Object]:
        """The pods of a Job."""
        metadata = job["metadata"]
        return self.client.list_all(
            "v1", "Pod", metadata["namespace"], f"batch.kubernetes.io/job-name={metadata['name']}"
        )

    def nodes(self, pool: str = "") -> list[Object]:
        """Nodes of a pool, or of all pools."""
        return self.client.list_all("v1", "Node", labels=f"{POOL_LABEL}={pool}" if pool else POOL_LABEL)

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        """(reason, message) of every event about an object."""
        return self.client.events(document)

    def until(self, what: str, holds: Callable[[], bool], timeout_s: float) -> None:
        """Waits until a condition holds.

        Raises:
            WaitError: if the condition does not hold in time; the text contains `what`.
        """
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise WaitError(f"timeout after {timeout_s:.0f} s: {what}")
            time.sleep(self.poll_s)

    def clear(self, *, nodes: bool = True) -> None:
        """Deletes all work of tenants and the nodes that Karpenter started for it. Nodes of static pools stay.

        Raises:
            WaitError: if an object is not gone in time.
        """
        self._empty([kind for kind in _WORK if self.client.serves(*kind)])
        self._empty([_WORKLOAD])
        if nodes:
            self._remove_nodes()

    def _empty(self, kinds: list[tuple[str, str]]) -> None:
        for kind in kinds:
            for namespace in {document["metadata"]["namespace"] for document in self._in_namespaces(kind)}:
                self.client.delete_all(*kind, namespace)
        self.until("deletion of all work", lambda: not any(map(self._in_namespaces, kinds)), self.timeouts.removal_s)

    def _in_namespaces(self, kind: tuple[str, str]) -> list[Object]:
        documents = self.client.list_all(*kind)
        return [document for document in documents if document["metadata"]["namespace"] in self.namespaces]

    def _remove_nodes(self) -> None:
        """Deletes nodes without Karpenter's termination: no pods run on them, and draining would only take time."""
        static = ",".join(sorted(pool.name for pool in self.cluster.pools if pool.is_static))
        selector = _NODEPOOL_LABEL + (f",{_NODEPOOL_LABEL} notin ({static})" if static else "")

        def left() -> list[Object]:
            return [node for kind in _NODES for node in self.client.list_all(*kind, labels=selector)]

        for kind in _NODES:
            self.client.delete_all(*kind, labels=selector)
        for node in left():
            self.client.remove_finalizers(node)
        self.until("deletion of all nodes", lambda: not left(), self.timeouts.removal_s)
