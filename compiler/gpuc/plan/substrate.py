"""What happens to a cluster that is removed, or that gets another version of Kubernetes, by its substrate.

A substrate is the place where a cluster lives, for example a cloud. Each folder of gpuc.substrates has a module plan.py
with the constant PLAN, which is a SubstratePlan.
"""

from collections.abc import Callable

from msgspec import Struct

from gpuc.cluster.pools import Pools
from gpuc.plan.change import Change
from gpuc.plan.state import State
from gpuc.spec.substrate import Sections, substrate_records


class SubstratePlan(Struct, frozen=True, kw_only=True):
    """The texts of `gpuc plan` for clusters of one substrate: their removal, and another version of Kubernetes."""

    sections: Sections
    """The sections of the spec."""
    cluster: str
    """What a cluster is in messages, in the singular."""
    end: str
    """The sentence about the nodes of a cluster that ends, after the sentence about its Applications."""
    control_plane: Callable[[Change, int], tuple[str, tuple[str, ...]]]
    """Returns what another version of Kubernetes does: the end of a message, and sentences.

    Arguments: the change, and the number of minor versions, which is negative for an older version."""


def substrate_plan(state: State) -> SubstratePlan:
    """Returns the texts for the substrate of a cluster. Without a readable spec, the kinds of the node pools decide."""
    records: dict[str, SubstratePlan] = substrate_records("plan", "PLAN")
    if state.cluster:
        return records[state.cluster.spec.cloud.substrate.name]
    folders = [pool.substrate for pool in state.objects.once(Pools).pools]
    return min(records.values(), key=lambda record: record.sections.folder not in folders)
