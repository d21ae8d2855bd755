"""The weights in a spec."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.model import Cluster
from gpuc.model.queue import Cohort, Queue


def weights(cluster: Cluster) -> Iterator[tuple[Queue | Cohort, str]]:
    """Yields the queues and cohorts for which the spec sets a weight, each with words for its message."""
    elements: tuple[Queue | Cohort, ...] = (*cluster.queues, *cluster.cohorts)
    for element in elements:
        if "weight" in element.spec.model_fields_set:
            kind = str(element.path[-2]).removesuffix("s")
            yield element, f"weight of {kind} {element.name} is {element.spec.weight}"
