"""The objects of a control plane at one time, from which the outcome of a transition is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuc.kubernetes.api_groups import KARPENTER_API
from gpuc.kubernetes.kueue import KUEUE_API
from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.model.names import POOL_LABEL
from gpuc.rehearse.client import Client, Object

CLAIM = (KARPENTER_API, "NodeClaim")
POOL = (KARPENTER_API, "NodePool")
NODE = ("v1", "Node")
POD = ("v1", "Pod")
EVENT = ("v1", "Event")
WORKLOAD = (KUEUE_API, "Workload")
CLUSTER_QUEUE = (KUEUE_API, "ClusterQueue")
LOCAL_QUEUE = (KUEUE_API, "LocalQueue")
OWNERS = (("batch/v1", "Job"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet"))
_KINDS = (CLAIM, POOL, NODE, POD, EVENT, WORKLOAD, CLUSTER_QUEUE, LOCAL_QUEUE, *OWNERS)
_THREADS = 6
_SECONDS = len("2026-01-31T23:59:59")
"""The length of a time without the fraction of a second."""


@dataclass(frozen=True)
class Snapshot:
    """The objects by kind."""

    objects: Mapping[str, tuple[Object, ...]] = field(default_factory=dict)

    def of(self, kind: str) -> tuple[Object, ...]:
        """Returns the objects of a kind; none if the API server does not serve the kind."""
        return self.objects.get(kind, ())

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        """Returns an object; None if it does not exist."""
        for document in self.of(kind):
            metadata = document["metadata"]
            if metadata["name"] == name and metadata.get("namespace", "") == namespace:
                return document
        return None

    def workload_of(self, owner: Object) -> Object | None:
        """Returns the Workload of an object; None if Kueue created no Workload."""
        return next(self.owned("Workload", owner), None)

    def owned(self, kind: str, owner: Object) -> Iterator[Object]:
        """Yields the objects of a kind that an object owns."""
        uid = owner["metadata"]["uid"]
        for document in self.of(kind):
            if any(reference["uid"] == uid for reference in document["metadata"].get("ownerReferences", ())):
                yield document

    def pods_of(self, owner: Object) -> list[Object]:
        """Returns the pods of a Job, a StatefulSet, or a Deployment."""
        owners = list(self.owned("ReplicaSet", owner)) if owner["kind"] == "Deployment" else [owner]
        return [pod for one in owners for pod in self.owned("Pod", one)]

    def events_of(self, document: Object, *reasons: str, since: str = "") -> list[str]:
        """Returns the messages of the events about an object that have one of the reasons, oldest first.

        Args:
            since: the time of the oldest event, as Kubernetes writes times, in whole seconds.
        """
        uid = document["metadata"]["uid"]
        events = [
            event
            for event in self.of("Event")
            if event.get("reason") in reasons
            and event.get("involvedObject", {}).get("uid") == uid
            and _time(event)[:_SECONDS] >= since[:_SECONDS]
        ]
        return [str(event.get("message", "")) for event in sorted(events, key=_time)]


def take_snapshot(client: Client, kinds: Iterable[tuple[str, str]] = _KINDS) -> Snapshot:
    """Reads the objects of the kinds that the API server serves."""
    served = [kind for kind in kinds if client.serves(*kind)]
    with ThreadPoolExecutor(_THREADS) as pool:
        lists = pool.map(lambda kind: tuple(client.list_all(*kind)), served)
    return Snapshot({name: documents for (_, name), documents in zip(served, lists, strict=True)})


def pool_of(document: Object) -> str:
    """Returns the pool of a NodeClaim or of a node; an empty string if the object has no pool."""
    labels = document["metadata"].get("labels", {})
    return str(labels.get(POOL_LABEL) or labels.get(NODE_POOL, ""))


def is_deleting(document: Object) -> bool:
    """Returns whether the API server is deleting an object."""
    return bool(document["metadata"].get("deletionTimestamp"))


def _time(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp", ""))
