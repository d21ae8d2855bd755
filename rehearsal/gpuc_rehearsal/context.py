"""What all test cases of a rehearsal share: the compiled spec, a client of the control plane, and timeouts."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from msgspec import Struct

from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.node_pool import INSTANCE_TYPE, NODE_POOL
from gpuc.model import Cluster
from gpuc.model.names import POOL_LABEL, SERVER_LABEL
from gpuc.parts.workload_kinds import spec_frameworks, workload_kinds
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.client import POLL_SECONDS, Client, Object, WaitError
from gpuc_rehearsal.process import poll

HOLD = {"gpuc.dev/rehearsal": "hold"}
"""Annotation of a pod that must run until its deletion. A Job's pod without this annotation completes immediately."""
POD, NODE, EVENT = ("v1", "Pod"), ("v1", "Node"), ("v1", "Event")
WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE = ((KUEUE_API, kind) for kind in ("Workload", "ClusterQueue", "LocalQueue"))
CACHE_SECONDS = 0.4
"""Maximum age of a cached result."""
T = TypeVar("T")


class Timeouts(Struct, frozen=True):
    """The longest time in seconds for which a test case waits for a state, for example for the admission.

    The limits are long, because programs are slow on a busy machine. On two busy cores the job controller needed more
    than 30 s for the status of a complete Job. A test case ends as soon as the state occurs, so a long limit costs
    nothing.
    """

    admission_s: float = 60
    """Kueue admits the workload, or reports why the workload is not admitted."""
    node_s: float = 120
    """The autoscaler starts the node, and the scheduler binds the pod. It retries only every ten seconds."""
    completion_s: float = 120
    """A Job whose pods are bound completes."""
    removal_s: float = 120
    """The API server no longer has the deleted objects and nodes."""
    retry_s: float = 15
    """The time for which the scheduler refuses a pod of a static pool until the refusal is final. If a pod of another
    test case ends, the scheduler tries again within 10 s (podMaxBackoffSeconds), and no object shows that it has.
    Also the time for which a ResourceQuota admits too many pods until the admission is final.

    Source: Kubernetes documentation, kube-scheduler Configuration (v1), KubeSchedulerConfiguration
    """


@dataclass
class _ListCache:
    """The objects of each kind in all namespaces, from one LIST request, grouped by an index key."""

    _locks: dict[tuple[str, str], Lock] = field(default_factory=dict)
    _results: dict[tuple[str, str], tuple[float, dict[str, list[Object]]]] = field(default_factory=dict)

    def find(self, client: Client, kind: tuple[str, str], key: str, index: Callable[[Object], str]) -> list[Object]:
        """Returns the objects for which `index` returns `key`. All calls for a kind must pass the same `index`."""
        with self._locks.setdefault(kind, Lock()):
            listed_at, by_key = self._results.get(kind, (0.0, {}))
            if time.monotonic() - listed_at > CACHE_SECONDS:
                by_key = {}
                for document in client.list_all(*kind):
                    by_key.setdefault(index(document), []).append(document)
                self._results[kind] = time.monotonic(), by_key
        return by_key.get(key, [])


def _controller_uid(document: Object) -> str:
    """Returns the uid of the owner whose controller created the object; empty for an object without such an owner."""
    owners = document["metadata"].get("ownerReferences", ())
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


@dataclass(frozen=True)
class RehearsalContext:
    """The control plane in which the test cases run, after all objects of a cluster were applied.

    The results of LIST requests are cached, so that hundreds of waiting test cases send only one request for each kind.
    """

    spec: CompiledSpec
    client: Client
    timeouts: Timeouts = field(default_factory=Timeouts)
    poll_s: float = POLL_SECONDS
    _cache: _ListCache = field(default_factory=_ListCache, repr=False, compare=False)

    @property
    def cluster(self) -> Cluster:
        """The model of the cluster, from which gpuc computes the expected outcomes."""
        return self.spec.cluster

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of all tenants. In a cluster without tenants, the namespace "default"."""
        return self.cluster.tenant_namespaces or ("default",)

    def workload_of(self, owner: Object) -> Object | None:
        """Returns the Kueue Workload of a Job, JobSet or Pod; None if Kueue has created no Workload yet."""
        return next(iter(self._cache.find(self.client, WORKLOAD, owner["metadata"]["uid"], _controller_uid)), None)

    def pods_of(self, job: Object) -> list[Object]:
        """Returns the pods that the controller of a Job created."""
        return self._cache.find(self.client, POD, job["metadata"]["uid"], _controller_uid)

    def node_labels(self, pods: list[Object]) -> list[Object]:
        """Returns the labels of the nodes on which these pods run: one map for each node."""
        names = {pod["spec"]["nodeName"] for pod in pods}
        nodes = self._cache.find(self.client, NODE, "", lambda node: "")
        return [node["metadata"]["labels"] for node in nodes if node["metadata"]["name"] in names]

    def pools_of(self, pods: list[Object]) -> str:
        """Returns the names of the node pools in which these pods run, for example "train-h100+train-h200"."""
        return "+".join(sorted({labels.get(POOL_LABEL, "") for labels in self.node_labels(pods)}))

    def types_of(self, pods: list[Object]) -> tuple[str, ...]:
        """Returns the instance types of the nodes on which pods run; for existing nodes, the types of the servers."""
        found = (labels.get(INSTANCE_TYPE) or labels.get(SERVER_LABEL, "") for labels in self.node_labels(pods))
        return tuple(sorted(set(found)))

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        """Returns the events about an object as (reason, message)."""
        uid = document["metadata"]["uid"]
        events = self._cache.find(self.client, EVENT, uid, lambda event: str(event["involvedObject"].get("uid")))
        return [(event.get("reason", ""), event.get("message", "")) for event in events]

    def until(self, description: str, find: Callable[[], T | None], timeout_s: float) -> T:
        """Calls `find` again and again until the result counts as true, and returns the result.

        Raises:
            WaitError: if there is no such result in time. The message contains `description`.
        """
        if not (found := poll(find, timeout_s, self.poll_s)):
            raise WaitError(f"timeout after {timeout_s:.0f} s: {description}")
        return found

    def clear(self, *, nodes: bool = True) -> None:
        """Deletes all tenants' workloads with their pods, and all nodes except those of static node pools.

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
        """Deletes nodes without draining them, which takes ten seconds each and has no effect on nodes without pods."""
        static = {pool.scaling.static_node_pool for pool in self.cluster.pools if pool.scaling} - {None, ""}
        selector = NODE_POOL + (f",{NODE_POOL} notin ({','.join(sorted(map(str, static)))})" if static else "")
        autoscaler = autoscaler_of(self.cluster)
        kinds = (autoscaler.claim, NODE) if autoscaler else (NODE,)

        def remaining() -> list[Object]:
            return [node for kind in kinds for node in self.client.list_all(*kind, labels=selector)]

        for kind in kinds:
            self.client.delete_all(*kind, labels=selector)
        for node in remaining():
            self.client.remove_finalizers(node)
        self.until("deletion of all nodes", lambda: not remaining(), self.timeouts.removal_s)
