"""Rules about the labels and taints of nodes."""

from gpuc.catalog.reserved_keys import is_free_label, reserved_domain
from gpuc.diagnostics.finding import Related
from gpuc.model import Pool
from gpuc.model.names import SYSTEM_TAINT
from gpuc.rules import Findings, Found, pool_rule


@pool_rule("KRP143")
def repeated_taint(pool: Pool) -> Findings:
    """Two taints of a node pool have the same key and the same effect."""
    earlier: dict[tuple[str, str], int] = {}
    for index, taint in enumerate(pool.spec.taints):
        first = earlier.setdefault((taint.key, taint.effect), index)
        if first != index:
            message = f"node pool {pool.name} has two taints with the key {taint.key} and the effect {taint.effect}"
            related = [Related("the first taint", (*pool.path, "taints", first))]
            yield Found((*pool.path, "taints", index), f"{message}; expected one", related=related)


@pool_rule("KRP141")
def reserved_node_label(pool: Pool) -> Findings:
    """The spec sets a node label that is reserved for Kubernetes, NVIDIA, gpuc, the cloud or its autoscaler."""
    for key in pool.spec.node_labels:
        if (domain := reserved_domain(key)) and not is_free_label(key):
            message = f"node label {key} of node pool {pool.name} has the domain {domain}, which is reserved"
            yield Found((*pool.path, "nodeLabels", key), f"{message}; expected a domain of your own")


@pool_rule("KRP142")
def reserved_taint(pool: Pool) -> Findings:
    """The spec sets a taint that is reserved for Kubernetes, NVIDIA, gpuc, the cloud or its autoscaler."""
    for index, taint in enumerate(pool.spec.taints):
        if taint.key == SYSTEM_TAINT or reserved_domain(taint.key):
            message = f"the key {taint.key} of a taint of node pool {pool.name} is reserved"
            yield Found((*pool.path, "taints", index, "key"), f"{message}; expected a key with a domain of your own")
