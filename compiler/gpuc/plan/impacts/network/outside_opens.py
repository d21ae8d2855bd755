from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.path_changes import opened


@impact("IMP404", Level.NONE, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def outside_opens(change: Change) -> Impacts:
    """Pods of a tenant get a network path to or from addresses, host names or namespaces of the platform.

    Nothing that runs is disturbed. Data can leave the tenant over a path to the outside, and requests can reach its
    pods over a path from the outside.
    """
    yield from opened(change)
