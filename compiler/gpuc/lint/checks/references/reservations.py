"""Capacity reservations of node classes that no node pool uses, and reserved nodes without a reservation.

Source: aws/karpenter-provider-aws v1.14.1 website/content/en/preview/tasks/odcrs.md; pkg/providers/launchtemplate
(types.go: on-demand nodes start with the preference none, so they are in no open reservation either)
"""

from gpuc.cluster.index import Index
from gpuc.cluster.pool import Pool
from gpuc.cluster.pool_fields import REQUIREMENTS
from gpuc.kubernetes.api_groups import KARPENTER_AWS
from gpuc.kubernetes.node_pool import CAPACITY_TYPE
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items

UNUSED_RESERVATION = rule_of("REF019")
NO_RESERVATION = rule_of("REF027")
_TERMS = ("spec", "capacityReservationSelectorTerms")
_RESERVED = "reserved"


@check(UNUSED_RESERVATION, NO_RESERVATION, kinds=("karpenter.sh/*", "karpenter.k8s.aws/*"))
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about node classes and the capacity types of their node pools."""
    index = objects.once(Index)
    for node_class in objects.of(KARPENTER_AWS, "EC2NodeClass"):
        key = (KARPENTER_AWS, "EC2NodeClass", node_class.name)
        pools = [pool for pool in index.nodes.pools if pool.node_class == key]
        allowed = [(pool, _row(pool)) for pool in pools]
        if any(items(dig(node_class.body, *_TERMS))):
            if pools and all(row is not None and _RESERVED not in row[1] for _, row in allowed):
                pool, first = allowed[0]
                message = f"EC2NodeClass {node_class.name} selects capacity reservations, but no NodePool of it in the "
                message += f"input allows {_RESERVED}: the reservations stay unused"
                path = (*pool.place(REQUIREMENTS), first[0] if first else 0, "values")
                yield ObjectFinding(UNUSED_RESERVATION, pool.manifest, path, message, f"add {_RESERVED}")
            continue
        for pool, row in allowed:
            if row is not None and row[1] == (_RESERVED,):
                message = f"the nodes are {_RESERVED}, but EC2NodeClass {node_class.name} selects no reservation"
                path = (*pool.place(REQUIREMENTS), row[0], "values")
                yield ObjectFinding(NO_RESERVATION, pool.manifest, path, message)


def _row(pool: Pool) -> tuple[int, tuple[str, ...]] | None:
    """Returns the position and the values of the requirement of capacity types; None if the values are not listed."""
    rows = [row for row in pool.requirements if row.key == CAPACITY_TYPE]
    return (rows[0].position, rows[0].values) if len(rows) == 1 and rows[0].operator == "In" else None
