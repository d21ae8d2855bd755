"""Capacity reservations: whether pods need reserved instances, and what the input shows about the reservations.

Source: aws/karpenter-provider-aws v1.14.1 pkg/apis/v1/labels.go; pkg/providers/instancetype/offering/provider.go
"""

from __future__ import annotations

from gpuc.kubernetes.node_pool import CAPACITY_TYPE, WELL_KNOWN, normal
from gpuc.kubernetes.selector import Domain, Selector
from gpuc.trace.node_class import RESERVATION_ID, RESERVATION_LABELS
from gpuc.trace.pools import NodePool

_RESERVED = frozenset(("reserved",))


def needs_reservation(pool: NodePool, term: Selector) -> bool:
    """Returns whether only reserved nodes of a pool meet the requirements of a pod."""
    capacity_type = _capacity_type(pool)
    for key, domain in term:
        if normal(key) == CAPACITY_TYPE:
            capacity_type = capacity_type.meet(domain)
    is_selected = any(key in RESERVATION_LABELS and not domain.absent for key, domain in term)
    return is_selected or capacity_type.listed == _RESERVED


def unknown_reservation(pool: NodePool, term: Selector) -> str:
    """Returns why the number of reserved nodes for pods is unknown; an empty string if the input shows the number.

    A pool with only reserved capacity has the number of nodes of its limits, unless the input shows a smaller number.

    Args:
        term: the requirements of pods that need reserved nodes.
    """
    for wanted in term:
        ids = pool.reservation_ids
        is_about_all = wanted.key == RESERVATION_ID and ids and all(map(wanted.domain.allows, ids))
        if wanted.key in RESERVATION_LABELS and not wanted.domain.absent and not is_about_all:
            return f"the input does not show how many instances with {wanted} node pool {pool.name} has"
    is_bounded = _capacity_type(pool).listed == _RESERVED and (pool.replicas is not None or bool(pool.limits))
    if pool.reserved_nodes is None and not is_bounded:
        return f"the input does not show how many reserved instances node pool {pool.name} has"
    return ""


def _capacity_type(pool: NodePool) -> Domain:
    return pool.offer.get(CAPACITY_TYPE) or Domain(False, WELL_KNOWN[CAPACITY_TYPE], False)
