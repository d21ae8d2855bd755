"""Impacts on the nodes that Karpenter replaces."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.plan.change import Change
from gpuc.plan.drift import Scope, drifts
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.replacement import details, nodes_of, nodes_text, replaced_words


def replaced_impacts(change: Change, scope: Scope, outcome: str) -> Iterator[Raised]:
    """Yields an impact for each node pool of which Karpenter replaces nodes, all of them or those that do not match."""
    for drift in drifts(change, scope):
        first = drift.reasons[0]
        reasons = ", ".join(reason.words for reason in drift.reasons)
        nodes = nodes_text(nodes_of(drift.pairs)) if scope is Scope.ALL else "nodes that no longer match"
        message = f"{replaced_words(nodes, drift.pairs, change.after.cluster, drift.misfits)}: {reasons}"
        predicts = (Prediction(f"nodes of pool {drift.name}", outcome),)
        sentences = tuple(details(drift.pairs, change, drift.misfits))
        yield Raised(f"node pool {drift.name}", message, first.manifest, first.path, sentences, predicts)
