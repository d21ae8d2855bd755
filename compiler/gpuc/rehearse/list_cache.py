"""Cached LIST results: hundreds of waiting test cases cause only one API request per kind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.context import RehearsalContext

CACHE_SECONDS = 0.4
"""Maximum age of a cached result."""
WORKLOAD = ("kueue.x-k8s.io/v1beta2", "Workload")
POD = ("v1", "Pod")
NODE = ("v1", "Node")
EVENT = ("v1", "Event")


@dataclass
class ListCache:
    """The objects of each kind in all namespaces, from one LIST request, grouped by an index key."""

    client: Client
    _locks: dict[tuple[str, str], threading.Lock] = field(default_factory=dict)
    _results: dict[tuple[str, str], tuple[float, dict[str, list[Object]]]] = field(default_factory=dict)

    def find(self, kind: tuple[str, str], key: str, index: Callable[[Object], str]) -> list[Object]:
        """Returns the objects of a kind with an index key. Every call for a kind must pass the same index function."""
        with self._locks.setdefault(kind, threading.Lock()):
            listed_at, by_key = self._results.get(kind, (0.0, {}))
            if time.monotonic() - listed_at > CACHE_SECONDS:
                by_key = {}
                for document in self.client.list_all(*kind):
                    by_key.setdefault(index(document), []).append(document)
                self._results[kind] = time.monotonic(), by_key
        return by_key.get(key, [])


@dataclass(frozen=True)
class CachedContext(RehearsalContext):
    """A RehearsalContext whose queries use cached LIST results."""

    cache: ListCache = field(kw_only=True)

    def workload_of(self, owner: Object) -> Object | None:
        """Returns the Workload that Kueue created for a Job; None if no Workload exists."""
        return next(iter(self.cache.find(WORKLOAD, owner["metadata"]["uid"], _controller_uid)), None)

    def pods_of(self, job: Object) -> list[Object]:
        """Returns the pods of a Job."""
        return self.cache.find(POD, job["metadata"]["uid"], _controller_uid)

    def nodes(self, pool: str = "") -> list[Object]:
        """Returns the nodes of a pool, or of all pools if no pool is named."""
        return super().nodes(pool) if pool else self.cache.find(NODE, "", lambda node: "")

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        """Returns (reason, message) of every event about an object."""
        events = self.cache.find(
            EVENT, document["metadata"]["uid"], lambda event: str(event["involvedObject"].get("uid"))
        )
        return [(event.get("reason", ""), event.get("message", "")) for event in events]


def with_list_cache(context: RehearsalContext) -> CachedContext:
    """Returns the context with a new cache."""
    cache = ListCache(context.client)
    return CachedContext(context.spec, context.client, context.timeouts, CACHE_SECONDS, cache=cache)


def _controller_uid(document: Object) -> str:
    """Returns the uid of the owner whose controller created the object; empty for an object without such an owner."""
    owners = document["metadata"].get("ownerReferences", ())
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")
