"""Rules about sections and values of node pools that only another substrate has.

A substrate is the place where a cluster lives, for example a cloud. Each substrate is a folder of gpuc.substrates.
"""

from pydantic import BaseModel

from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.spec.substrate import substrates


@rule("NOD001")
def section_of_another_substrate(cluster: Cluster) -> Findings:
    """A node pool has a section for clusters on another substrate, for example `machines` in a cloud."""
    own = cluster.spec.cloud.substrate
    for pool in cluster.pools:
        for other in substrates():
            if other is not own and other.pool_key in pool.spec.model_fields_set:
                keys = _keys(getattr(pool.spec, other.pool_key))
                listed = f" ({', '.join(keys)})" if keys else ""
                actual = f"node pool {pool.name} has the section {other.pool_key}{listed} for {other.title}"
                expected = f"the cluster has cloud.{own.name} for {own.title}; expected {own.pool_key} or neither"
                instead = [f"{own.instead[key]} instead of {key}" for key in keys if key in own.instead]
                fix = f"remove {other.pool_key} from node pool {pool.name}"
                if instead:
                    fix += f"; write {', '.join(instead)}"
                yield Found((*pool.path, other.pool_key), f"{actual}, but {expected}", fix, on_key=True)


@rule("NOD008")
def level_of_another_substrate(cluster: Cluster) -> Findings:
    """The topology of a node pool has a level that only nodes on another substrate have."""
    known = cluster.substrate.levels
    for pool in cluster.pools:
        levels = pool.spec.topology or ()
        for index, level in enumerate(levels):
            if level not in known:
                nodes = cluster.substrate.sections.title
                message = f"topology of node pool {pool.name} has {level}, which {nodes} do not have"
                kept = [str(other) for other in levels if other in known] or [known[-1]]
                fix = f"write topology: [{', '.join(kept)}]"
                yield Found((*pool.path, "topology", index), f"{message}; expected {' or '.join(known)}", fix)


def _keys(section: BaseModel) -> list[str]:
    fields = type(section).model_fields
    return [fields[name].alias or name for name in fields if name in section.model_fields_set]
