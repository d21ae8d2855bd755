"""What scenes get: the compiled cluster, a client of its control plane, and how long to wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import POLL_SECONDS, Client, Object, WaitError

HOLD = {"gpuc.dev/rehearsal": "hold"}
"""Annotation of a pod: it runs until it is deleted. Without it a Job's pod ends as soon as it has started."""
_WORK = (("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("v1", "Pod"))
_WORKLOAD = ("kueue.x-k8s.io/v1beta2", "Workload")
_NODES = (("karpenter.sh/v1", "NodeClaim"), ("v1", "Node"))
_OF_A_POOL = "karpenter.sh/nodepool"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds until something that was expected counts as not happening."""

    admission_s: float = 15
    """Kueue admits, or says why not."""
    node_s: float = 30
    """Karpenter has decided, the node is there, the pod is bound; it looks again only every ten seconds."""
    completion_s: float = 30
    """A Job whose pods are bound is complete."""
    removal_s: float = 30
    """What was deleted is gone, nodes included."""


@dataclass(frozen=True)
class Rehearsal:
    """A cluster whose tree is applied and healthy."""

    spec: CompiledSpec
    client: Client
    timeouts: Timeouts = field(default_factory=Timeouts)
    poll_s: float = POLL_SECONDS
    """Seconds between two looks."""

    @property
    def cluster(self) -> Cluster:
        """The model, which expectations come from."""
        return self.spec.cluster

    @property
    def namespaces(self) -> tuple[str, ...]:
        """All namespaces of tenants."""
        return self.cluster.tenant_namespaces

    def workload_of(self, owner: Object) -> Object | None:
        """The Workload that Kueue made for a Job, a JobSet or a Pod; None until it has."""
        uid = owner["metadata"]["uid"]
        for workload in self.client.list_all(*_WORKLOAD, owner["metadata"]["namespace"]):
            if any(each["uid"] == uid for each in workload["metadata"].get("ownerReferences", ())):
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
        """Waits until something holds.

        Raises:
            WaitError: naming it, when it does not in time.
        """
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                raise WaitError(f"{what}: not after {timeout_s:.0f} s")
            time.sleep(self.poll_s)

    def clear(self, *, nodes: bool = True) -> None:
        """Removes all work of tenants, and the nodes that were started for it; those of static pools stay.

        Raises:
            WaitError: when something does not go.
        """
        self._empty([kind for kind in _WORK if self.client.serves(*kind)])
        self._empty([_WORKLOAD])
        if nodes:
            self._remove_nodes()

    def _empty(self, kinds: list[tuple[str, str]]) -> None:
        for kind in kinds:
            for namespace in {each["metadata"]["namespace"] for each in self._in_namespaces(kind)}:
                self.client.delete_all(*kind, namespace)
        self.until("work is gone", lambda: not any(map(self._in_namespaces, kinds)), self.timeouts.removal_s)

    def _in_namespaces(self, kind: tuple[str, str]) -> list[Object]:
        return [each for each in self.client.list_all(*kind) if each["metadata"]["namespace"] in self.namespaces]

    def _remove_nodes(self) -> None:
        """Nobody is on them: Karpenter's orderly end of a node would only take time."""
        static = ",".join(sorted(pool.name for pool in self.cluster.pools if pool.is_static))
        mortal = _OF_A_POOL + (f",{_OF_A_POOL} notin ({static})" if static else "")

        def left() -> list[Object]:
            return [each for kind in _NODES for each in self.client.list_all(*kind, labels=mortal)]

        for kind in _NODES:
            self.client.delete_all(*kind, labels=mortal)
        for each in left():
            self.client.release(each)
        self.until("nodes are gone", lambda: not left(), self.timeouts.removal_s)
