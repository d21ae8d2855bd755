"""The sections of node pools that belong to one substrate."""

from pydantic import BaseModel

from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.spec.substrate import substrates


@rule("NOD001")
def section_of_another_substrate(cluster: Cluster) -> Findings:
    """A node pool has a section for clusters that live in another place."""
    own = cluster.spec.cloud.substrate
    for pool in cluster.pools:
        for other in substrates():
            if other is not own and other.pool_key in pool.spec.model_fields_set:
                keys = ", ".join(_keys(getattr(pool.spec, other.pool_key)))
                actual = f"node pool {pool.name} has {other.pool_key}{keys and f' ({keys})'}, for {other.title}"
                expected = f"the cluster has cloud.{own.name}, {own.title}; expected {own.pool_key} or no section"
                fix = f"remove {other.pool_key} from node pool {pool.name}"
                yield Found((*pool.path, other.pool_key), f"{actual}, but {expected}", fix, on_key=True)


def _keys(section: BaseModel) -> list[str]:
    fields = type(section).model_fields
    return [fields[name].alias or name for name in fields if name in section.model_fields_set]
