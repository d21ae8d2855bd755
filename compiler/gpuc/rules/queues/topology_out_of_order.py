from __future__ import annotations

from gpuc.model import Cluster
from gpuc.rules import Findings, rule

ORDER = ("zone", "block", "host")


@rule("KUE017", source="kubernetes-sigs/kueue v0.19.2 apis/kueue/v1beta2/topology_types.go")
def topology_out_of_order(cluster: Cluster) -> Findings:
    """The topology levels of a node pool are not ordered from widest to narrowest, or a level is repeated.

    Kueue accepts host only as the last level, and refuses a repeated level.
    """
    for pool in cluster.pools:
        levels = pool.spec.topology or []
        expected = [level for level in ORDER if level in levels]
        if levels != expected:
            wrong = next(index for index, level in enumerate(levels) if expected[index : index + 1] != [level])
            message = f"topology of node pool {pool.name} is {', '.join(levels)}; expected {', '.join(expected)}"
            yield (
                (*pool.path, "topology", wrong),
                message,
                f"set topology of node pool {pool.name} to [{', '.join(expected)}]",
            )
