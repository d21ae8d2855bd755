from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, impact
from gpuc.plan.path_changes import closed


@impact("IMP405", Level.RESTRICTS, source="kubernetes.io/docs/concepts/services-networking/network-policies")
def outside_closes(change: Change) -> Impacts:
    """Pods of a tenant lose a network path to or from addresses, host names or namespaces of the platform.

    New connections of running pods fail. Whether open connections end depends on the network policy engine.
    """
    yield from closed(change)
