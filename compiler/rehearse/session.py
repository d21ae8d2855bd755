"""What scenes get: the compiled cluster, a client of its control plane, and how long to wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from compiler.model import Cluster
from compiler.model.names import POOL_LABEL
from compiler.rehearse.client import POLL_SECONDS, Client, Object, WaitError
from compiler.rehearse.compiled import CompiledSpec

HOLD = {"gpuc.dev/rehearsal": "hold"}
"""Annotation of a pod: it runs until it is deleted. Without it a Job's pod ends as soon as it has started."""
_WORK = (("batch/v1", "Job"), ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("v1", "Pod"))
_WORKLOAD_API = "kueue.x-k8s.io/v1beta2"
_KARPENTER_API = "karpenter.sh/v1"


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
        for workload in self.client.list_all(_WORKLOAD_API, "Workload", owner["metadata"]["namespace"]):
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
            time.sleep(POLL_SECONDS)

    def clear(self, *, nodes: bool = True) -> None:
        """Removes all work of tenants, and the nodes that were started for it; those of static pools stay.

        Raises:
            WaitError: when something does not go.
        """
        self._delete_each(self._work)
        self._delete_each(self._workloads)
        if nodes:
            self._delete_each(self._claims)
            static = {pool.name for pool in self.cluster.pools if pool.is_static}
            self.until("nodes are gone", lambda: not self._pool_names() - static, self.timeouts.removal_s)

    def _delete_each(self, found: Callable[[], list[Object]]) -> None:
        for each in found():
            metadata = each["metadata"]
            self.client.delete(each["apiVersion"], each["kind"], metadata["name"], metadata.get("namespace", ""))
        self.until("work is gone", lambda: not found(), self.timeouts.removal_s)

    def _work(self) -> list[Object]:
        return list(self._in_namespaces([kind for kind in _WORK if self.client.serves(*kind)]))

    def _workloads(self) -> list[Object]:
        return list(self._in_namespaces([(_WORKLOAD_API, "Workload")]))

    def _in_namespaces(self, kinds: list[tuple[str, str]]) -> Iterator[Object]:
        for api, kind in kinds:
            yield from (
                each for each in self.client.list_all(api, kind) if each["metadata"]["namespace"] in self.namespaces
            )

    def _claims(self) -> list[Object]:
        static = {pool.name for pool in self.cluster.pools if pool.is_static}
        claims = self.client.list_all(_KARPENTER_API, "NodeClaim")
        return [each for each in claims if each["metadata"]["labels"]["karpenter.sh/nodepool"] not in static]

    def _pool_names(self) -> set[str]:
        return {node["metadata"]["labels"][POOL_LABEL] for node in self.nodes()}
