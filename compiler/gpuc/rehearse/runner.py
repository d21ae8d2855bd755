"""Runs test cases batch by batch, and compares the actual outcomes with the expected outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpuc.rehearse.client import ApiError, WaitError
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.list_cache import CachedContext, with_list_cache
from gpuc.rehearse.outcome import Outcome, agrees
from gpuc.rehearse.schedule import schedule
from gpuc.rehearse.suites import Case

MAX_PARALLEL = 200
"""Maximum number of test cases that run at the same time. The test cases share cached LIST results."""


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


def run_cases(
    context: RehearsalContext, cases: Iterable[Case], progress: Callable[[CaseResult], None]
) -> list[CaseResult]:
    """Runs all test cases, and deletes their objects after each batch.

    progress: receives the result after every test case.
    """
    cached = with_list_cache(context)
    results: list[CaseResult] = []
    with ThreadPoolExecutor(MAX_PARALLEL) as pool:
        for batch in schedule(context.spec, cases):
            results += pool.map(lambda case: _run(cached, case, progress), batch)
            cached.clear(nodes=bool(_scaled_up_node_pools(cached)))
    return results


def _run(context: CachedContext, case: Case, progress: Callable[[CaseResult], None]) -> CaseResult:
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


def _scaled_up_node_pools(context: CachedContext) -> set[str]:
    """Returns the names of the NodePools for which Karpenter has started nodes, without static NodePools."""
    static = {pool.static_node_pool for pool in context.cluster.pools}
    claims = context.client.list_all("karpenter.sh/v1", "NodeClaim")
    return {str(claim["metadata"]["labels"]["karpenter.sh/nodepool"]) for claim in claims} - static
