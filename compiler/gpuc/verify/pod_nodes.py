"""Finds the nodes that accept pods, by labels and taints.

The nodes are the nodes of node pools, and the system nodes, which the README of a cluster describes.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool, named
from gpuc.diagnostics.spelling import alternatives, misspelt, write
from gpuc.kubernetes.node_pool import WELL_KNOWN, normal
from gpuc.kubernetes.selector import Domain, Requirement, Selector
from gpuc.kubernetes.toleration import Taint, Toleration, agent_of, toleration_fix, untolerated
from gpuc.manifest.manifest import RunsOn
from gpuc.model.names import GPUS_TAINT, SYSTEM_TAINT
from gpuc.objects.object_set import dig, pairs

_NOT_ON_SYSTEM_NODES = ("karpenter.sh/", "karpenter.k8s.aws/", "gpuc.dev/", "nvidia.com/")
"""Prefixes of labels that only nodes of Karpenter and nodes with GPUs have. System nodes may have any other label."""
_SYSTEM_LABELS = {**WELL_KNOWN, "kubernetes.io/os": frozenset(("linux",))}
_MAX_NODES = 4


class NodeGroup(Struct, frozen=True):
    """Nodes that have the same labels and taints, for example the nodes of a node pool."""

    title: str
    mismatch: Callable[[Selector], Requirement | None]
    """Returns the first requirement that no node of the group meets; None without such a requirement."""
    taints: Sequence[Taint]
    listed: Callable[[str], frozenset[str]]
    """Returns the values of a label that the group lists."""


class Refusal(Struct, frozen=True):
    """Why no node accepts some pods."""

    message: str
    fix: str
    """The missing tolerations, if the nodes for the pods are certain; or the correct label."""
    wanted: Requirement | None = None
    """A requirement that no node meets; None if nodes with the labels exist, and taints keep the pods off."""

    def field(self, pod: Any) -> str:
        """Returns the field in the spec of the pod because of which no node accepts the pod."""
        if self.wanted is None:
            return "tolerations"
        return "nodeSelector" if self.wanted.key in dict(pairs(dig(pod, "nodeSelector"))) else "affinity"


def _system_mismatch(term: Selector) -> Requirement | None:
    return next((wanted for wanted in term if not _system_nodes_meet(normal(wanted.key), wanted.domain)), None)


def _system_nodes_meet(key: str, domain: Domain) -> bool:
    if key.startswith(_NOT_ON_SYSTEM_NODES):
        return domain.absent
    values = _SYSTEM_LABELS.get(key)
    return not domain.is_empty and (not values or Domain(False, values, False).meet(domain).has_values)


SYSTEM_NODES = NodeGroup(
    "the system nodes have", _system_mismatch, [Taint(SYSTEM_TAINT, "true", "NoSchedule")], lambda key: frozenset()
)


def pool_nodes(pool: Pool, *, after_boot: bool = False, at_start: bool = False) -> NodeGroup:
    """Returns the nodes of a node pool as a NodeGroup.

    Args:
        after_boot: whether the nodes exist before the pods, and can have labels that nodes get after their start.
        at_start: whether the nodes still have the startup taints that gpuc's components remove.
    """
    startup = [taint for taint in pool.startup_taints if not agent_of(taint.key)] if at_start else []
    mismatch = partial(pool.mismatch, exists=True) if after_boot else pool.mismatch
    return NodeGroup(f"{named([pool])} has", mismatch, [*pool.taints, *startup], pool.listed)


def needed_nodes(index: Index, runs_on: RunsOn) -> list[NodeGroup]:
    """Returns the groups of nodes that must all accept the pods of a component."""
    if runs_on == "system nodes":
        return [SYSTEM_NODES]
    if runs_on == "pool nodes":
        return [pool_nodes(pool) for pool in index.nodes.pools]
    if runs_on == "GPU nodes":
        pools = [row for row in index.nodes.pools if any(taint.key == GPUS_TAINT for taint in row.startup_taints)]
    else:
        pools = [pool for pool in index.nodes.pools if pool.efa_interfaces]
    return [pool_nodes(pool, after_boot=True, at_start=True) for pool in pools]


def refusal(
    groups: Sequence[NodeGroup], terms: Sequence[Selector], tolerations: Sequence[Toleration]
) -> Refusal | None:
    """Returns why none of the node groups accepts some pods; None if a group accepts them.

    Args:
        groups: the nodes. If the system nodes are the first group, the fix is for them.
        terms: the node selector terms of the pods. A node must match one of the terms.
    """
    tainted = []
    for group in groups:
        if any(group.mismatch(term) is None for term in terms):
            taint = untolerated(group.taints, tolerations)
            if taint is None:
                return None
            tainted.append((group, taint))
    if not tainted:
        return _without_labels(groups, terms)
    shown = [f"{group.title} the taint {taint}" for group, taint in tainted[:_MAX_NODES]]
    first, more = tainted[0][0], " and more" if len(tainted) > _MAX_NODES else ""
    is_certain = first is SYSTEM_NODES or len(tainted) == 1
    fix = toleration_fix(first.taints, tolerations) if is_certain else ""
    return Refusal(f"no node takes the pods: {', '.join(shown)}{more}", fix)


def _without_labels(groups: Sequence[NodeGroup], terms: Sequence[Selector]) -> Refusal:
    """Returns the refusal of pods that select labels which no node has."""
    unmet = [wanted for term in terms for wanted in term if all(group.mismatch((wanted,)) for group in groups)]
    if not unmet:
        return Refusal("no node has all labels that the pods select", "", terms[0][0])
    known = frozenset[str]().union(*(group.listed(normal(unmet[0].key)) for group in groups))
    suggestion = next((name for value in unmet[0].domain.listed or () if (name := misspelt(value, known))), "")
    return Refusal(f"no node has {unmet[0]}{alternatives(known, suggestion)}", write(suggestion), unmet[0])
