"""Test suites: test cases for a rehearsed cluster, with the outcomes that the model expects; one module per suite.

A suite is a module with `cases(cluster) -> Iterator[Case]`. A suite reads only the model, so expected outcomes are
computed before the run and never taken from it. Test cases of one batch run at the same time and do not influence one
another, even if they belong to different suites. Batches run one after another; the objects of a batch are deleted
before the next batch starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from gpuc.diagnostics.finding import Path
from gpuc.model import Cluster
from gpuc.rehearse.context import RehearsalContext
from gpuc.rehearse.outcome import Outcome, Request

SUITES = (
    "smallest",
    "full_node",
    "efa",
    "shares",
    "gangs",
    "borrowing",
    "preemption",
    "reclaim",
    "topology",
    "policies",
    "boundaries",
)
"""Modules of this package, in the order of the run."""
NODES_BATCH = "nodes"
"""Batch of test cases that need a node, and that may share the node with other pods."""


@dataclass(frozen=True, slots=True)
class Case:
    """A test case."""

    suite: str
    name: str
    """Unique within its suite, for example "research train-h100 one GPU"."""
    origin: Path
    """The spec path that the test case covers."""
    expected: Outcome
    action: Callable[[RehearsalContext], Outcome]
    """Creates the objects, waits, and returns the actual outcome."""
    queue: str = ""
    pool: str = ""
    request: str = ""
    """Description of the request. Test cases are distinct if suite, queue, pool or request differ."""
    batch: str = ""
    """Test cases with the same batch name run at the same time; empty for a batch of the suite."""
    demand: Request | None = None
    """The quota and nodes that the test case uses. Test cases that do not fit together get separate batches."""

    @property
    def is_refusal(self) -> bool:
        return self.expected.verdict in ("refused", "pending")


class Suite(Protocol):
    """A module of this package."""

    def cases(self, cluster: Cluster) -> Iterator[Case]:
        """All test cases for a cluster."""
        ...


def all_cases(cluster: Cluster, suites: Iterable[str] = SUITES) -> Iterator[Case]:
    """All test cases for a cluster, suite by suite."""
    from importlib import import_module

    for name in suites:
        suite: Suite = import_module(f"{__name__}.{name}")
        yield from suite.cases(cluster)
