"""Slices of a pod set: groups of a fixed number of pods. Kueue places each slice in one domain of a topology.

Source: kubernetes-sigs/kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go (findTopologyAssignment,
updateCountsToMinimumGeneric: only complete slices get nodes); pkg/controller/jobframework/tas.go (Build)
"""

from collections.abc import Sequence
from typing import NamedTuple

from gpuc.admission.validation.kueue import SLICE_CONSTRAINTS, SLICE_SIZE, SLICE_TOPOLOGY, is_count
from gpuc.kubernetes.kueue import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gpuc.trace.nodes import MatchingPool, PodDemand, max_pods, pods_per_node
from gpuc.trace.workload import PodSet


class Slices(NamedTuple):
    """The slices of a pod set: groups of pods that Kueue places in one domain. By default, a slice is one pod."""

    level: str
    """The node label of the topology level of which a slice needs one domain; empty for single pods."""
    size: int

    def problem(self, pods: PodSet, levels: Sequence[str]) -> str:
        """Returns why Kueue refuses the topology of the slices, whatever nodes there are; otherwise an empty string.

        Args:
            levels: the node labels of the levels of the topology, the widest first; empty if they are unknown.
        """
        if self.level and levels and self.level not in levels:
            return f"no requested topology level for slices: {self.level}"
        wanted = pods.annotations.get(REQUIRED_TOPOLOGY) or pods.annotations.get(PREFERRED_TOPOLOGY)
        if self.level and wanted in levels and levels.index(wanted) > levels.index(self.level):
            return f"podset slice topology {self.level} is above the podset topology {wanted}"
        return ""

    def unknown(self, pods: PodSet) -> str:
        """Returns what gpuc cannot predict about the slices; an empty string if gpuc can predict everything.

        Either the result of Kueue differs from run to run, or the trace does not evaluate a rule. Kueue assigns nodes
        only to complete slices. In runs of Kueue, the pods outside of complete slices sometimes got nodes too.
        """
        if SLICE_CONSTRAINTS in pods.annotations:
            return "the trace does not evaluate slices in slices"
        if rest := pods.count % self.size:
            whole = pods.count - rest
            return f"slices of {self.size} pods hold {whole} of {pods.count} pods, and the others may keep Kueue's gate"
        return ""

    def room(self, match: MatchingPool, demand: PodDemand, nodes: int | None, span: int | None) -> int:
        """Returns how many pods fit on the nodes of a static pool, if only complete slices count.

        Args:
            nodes: the maximum number of nodes; None if only the pool limits it.
            span: the number of nodes in one domain of the level of the slices; None if all nodes are in one domain.
        """
        if self.size == 1 or span is None:
            return max_pods(match, demand, nodes) // self.size * self.size
        most = min(match.pool.replicas or 0, *(count for count in (nodes, match.nodes) if count is not None), 10**9)
        fits = pods_per_node(match, demand).values()
        return max((most // span * (span * fit // self.size) * self.size for fit in fits), default=0)


def slices_of(pods: PodSet) -> Slices:
    """Returns the slices of a pod set, which its annotations describe."""
    level, size = pods.annotations.get(SLICE_TOPOLOGY), pods.annotations.get(SLICE_SIZE)
    return Slices(level, int(str(size))) if isinstance(level, str) and is_count(size) else Slices("", 1)
