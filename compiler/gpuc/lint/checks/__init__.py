"""Checks of Kubernetes objects, by topic."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc import isolation
from gpuc.isolation import access, dns_egress
from gpuc.lint.checks import monitoring, object_consistency, quotas, references, shared_members
from gpuc.lint.checks.scheduling import refused_workloads, unreachable_queues
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.verify import constraints

TOPICS = (
    object_consistency,
    references,
    quotas,
    unreachable_queues,
    refused_workloads,
    constraints,
    isolation,
    dns_egress,
    access,
    shared_members,
    monitoring,
)
"""Topics in the order of their findings."""


def findings(objects: ObjectSet) -> Iterator[ObjectFinding]:
    """Yields the findings of all checks except the checks of schemas."""
    for topic in TOPICS:
        yield from topic.findings(objects)
