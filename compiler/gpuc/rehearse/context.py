"""The context of test cases: the compiled spec, a client of the rehearsed control plane, and timeouts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.parts.workload_kinds import spec_frameworks, workload_kinds
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import POLL_SECONDS, Client, Object, WaitError

HOLD = {"gpuc.dev/rehearsal": "hold"}
"""Annotation of a pod that must run until its deletion. A Job's pod without this annotation completes immediately."""
POD, NODE, EVENT = ("v1", "Pod"), ("v1", "Node"), ("v1", "Event")
CLAIM, KARPENTER_POOL = ("karpenter.sh/v1", "NodeClaim"), ("karpenter.sh/v1", "NodePool")
WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE = ((KUEUE_API, kind) for kind in ("Workload", "ClusterQueue", "LocalQueue"))
T = TypeVar("T")


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
        for workload in self.client.list_all(*WORKLOAD, owner["metadata"]["namespace"]):
            if any(reference["uid"] == uid for reference in workload["metadata"].get("ownerReferences", ())):
                return workload
        return None

    def pods_of(self, job: Object) -> list[Object]:
        """Returns the pods of a Job."""
        name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        return self.client.list_all(*POD, namespace, f"batch.kubernetes.io/job-name={name}")

    def nodes(self, pool: str = "") -> list[Object]:
        """Returns the nodes of a pool, or of all pools if no pool is named."""
        return self.client.list_all(*NODE, labels=f"{POOL_LABEL}={pool}" if pool else POOL_LABEL)

    def node_labels(self, pods: list[Object]) -> list[Object]:
        """Returns the labels of the nodes on which pods run."""
        names = {pod["spec"]["nodeName"] for pod in pods}
        return [node["metadata"]["labels"] for node in self.nodes() if node["metadata"]["name"] in names]

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        """Returns (reason, message) of every event about an object."""
        return self.client.events(document)

    def until(self, description: str, find: Callable[[], T | None], timeout_s: float) -> T:
        """Waits until `find` returns a value that counts as true, and returns the value.

        Raises:
            WaitError: if there is no such value in time; the message contains the description.
        """
        deadline = time.monotonic() + timeout_s
        while not (found := find()):
            if time.monotonic() > deadline:
                raise WaitError(f"timeout after {timeout_s:.0f} s: {description}")
            time.sleep(self.poll_s)
        return found

    def clear(self, *, nodes: bool = True) -> None:
        """Deletes the workloads of all tenants and their pods, and the nodes of all NodePools that are not static.

        Raises:
            WaitError: if the API server still has one of the objects after the timeout.
        """
        # The controllers of replicas replace deleted pods.
        replicated = [(kind.api, kind.kind) for kind in workload_kinds() if kind.is_builtin and kind.traits.is_scaled]
        self._delete_kinds(replicated)
        others = [(kind.api, kind.kind) for kind in spec_frameworks().values() if not kind.traits.is_scaled]
        self._delete_kinds([kind for kind in others if self.client.serves(*kind)])
        self._delete_kinds([WORKLOAD])
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
            return [node for kind in (CLAIM, NODE) for node in self.client.list_all(*kind, labels=selector)]

        for kind in (CLAIM, NODE):
            self.client.delete_all(*kind, labels=selector)
        for node in remaining():
            self.client.remove_finalizers(node)
        self.until("deletion of all nodes", lambda: not remaining(), self.timeouts.removal_s)
