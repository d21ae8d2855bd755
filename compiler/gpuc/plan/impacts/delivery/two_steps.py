from gpuc.model import Cluster
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_NOUNS = {"pools": "node pool", "queues": "queue", "tenants": "tenant"}


@impact("IMP509", Level.DISRUPTS, source="gpuc README, removal of elements: leaving")
def two_steps(change: Change) -> Impacts:
    """A node pool, queue or tenant is removed or renamed in one commit, although it needs two.

    The first commit sets `leaving: true`: no new nodes and workloads, running workloads continue. The second commit
    removes the element when it is empty. A rename is a removal and an addition.
    """
    before, after = change.before.cluster, change.after.cluster
    if before is None or after is None:
        return
    for section, noun in _NOUNS.items():
        old, new = (_elements(cluster, section) for cluster in (before, after))
        added = [name for name in new if name not in old]
        removed = [name for name in old if name not in new]
        for name in removed:
            if old[name]:
                continue
            renamed = f" (renamed to {added[0]}?)" if len(added) == len(removed) == 1 else ""
            message = f"is removed while it is in use{renamed}; merge two changes instead"
            details = (
                f"first: keep {noun} {name} with leaving: true, and merge",
                f"then: remove {noun} {name}, when no workload uses it any more",
            )
            yield Raised(f"{noun} {name}", message, path=("spec", section, name), details=details)


def _elements(cluster: Cluster, section: str) -> dict[str, bool]:
    """Returns the elements of a section: whether they are leaving, by name."""
    return {element.name: element.spec.leaving for element in getattr(cluster, section)}
