"""Runs test cases batch by batch, and compares the actual outcomes with the expected outcomes.

LIST results are cached, so that hundreds of waiting test cases cause only one API request per kind.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc.rehearse.client import ApiError, Client, Object, WaitError
from gpuc.rehearse.context import CLAIM, EVENT, NODE, POD, WORKLOAD, RehearsalContext
from gpuc.rehearse.outcome import Outcome, agrees
from gpuc.rehearse.schedule import schedule
from gpuc.rehearse.suites import Case

MAX_PARALLEL = 200
"""Maximum number of test cases that run at the same time."""
CACHE_SECONDS = 0.4
"""Maximum age of a cached result."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """A test case with its actual outcome."""

    case: Case
    actual: Outcome
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the actual outcome agrees with the expected outcome."""
        return agrees(self.case.expected, self.actual)


@dataclass
class _ListCache:
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
class _CachedContext(RehearsalContext):
    cache: _ListCache = field(kw_only=True)

    def workload_of(self, owner: Object) -> Object | None:
        return next(iter(self.cache.find(WORKLOAD, owner["metadata"]["uid"], _controller_uid)), None)

    def pods_of(self, job: Object) -> list[Object]:
        return self.cache.find(POD, job["metadata"]["uid"], _controller_uid)

    def nodes(self, pool: str = "") -> list[Object]:
        return super().nodes(pool) if pool else self.cache.find(NODE, "", lambda node: "")

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        events = self.cache.find(EVENT, document["metadata"]["uid"], _involved_uid)
        return [(event.get("reason", ""), event.get("message", "")) for event in events]


def run_cases(
    context: RehearsalContext, cases: Iterable[Case], progress: Callable[[CaseResult], None]
) -> list[CaseResult]:
    """Runs all test cases, and deletes their objects after each batch.

    progress: receives the result after every test case.
    """
    cache = _ListCache(context.client)
    cached = _CachedContext(context.spec, context.client, context.timeouts, CACHE_SECONDS, cache=cache)
    results: list[CaseResult] = []
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        for batch in schedule(context.spec, cases):
            results += pool.map(lambda case: _run(cached, case, progress), batch)
            cached.clear(nodes=bool(_scaled_up_node_pools(cached)))
    return results


def _run(context: RehearsalContext, case: Case, progress: Callable[[CaseResult], None]) -> CaseResult:
    started = time.monotonic()
    try:
        actual = case.action(context)
    except WaitError as error:
        actual = Outcome("unanswered", message=str(error))
    except ApiError as error:
        actual = Outcome("refused", by="API server", message=str(error))
    result = CaseResult(case, actual, time.monotonic() - started)
    progress(result)
    return result


def _scaled_up_node_pools(context: RehearsalContext) -> set[str]:
    """Returns the names of the NodePools for which Karpenter has started nodes, without static NodePools."""
    static = {pool.static_node_pool for pool in context.cluster.pools}
    return {str(claim["metadata"]["labels"][NODE_POOL]) for claim in context.client.list_all(*CLAIM)} - static


def _controller_uid(document: Object) -> str:
    """Returns the uid of the owner whose controller created the object; empty for an object without such an owner."""
    owners = document["metadata"].get("ownerReferences", ())
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def _involved_uid(event: Object) -> str:
    return str(event["involvedObject"].get("uid"))
