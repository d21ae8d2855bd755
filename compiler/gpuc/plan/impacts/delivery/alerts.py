"""Impacts on alerts: the receivers of alerts, and the time series that the alerting rules read."""

from typing import get_args

from gpuc.model import Cluster
from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact
from gpuc.spec.notify import Receiver, Severity


@impact("IMP530", Level.NONE)
def alerts_go_elsewhere(change: Change) -> Impacts:
    """Alerts of the platform or of a tenant go to another receiver, or to no receiver."""
    old, new = (_receivers(state.cluster) if state.cluster else {} for state in (change.before, change.after))
    kept = (key for key in old if key in new and old[key] != new[key])
    moved = tuple(f"{key}: {old[key][0]} -> {new[key][0]}" for key in kept)
    if moved:
        path = ("spec", "observability", "notify")
        yield Raised("alerts", "go to other receivers, or a receiver changes", path=path, details=moved)


def _receivers(cluster: Cluster) -> dict[str, tuple[str, Receiver | None]]:
    """Returns the receiver of the alerts of each severity, of the platform and of each tenant."""
    notify = cluster.spec.observability and cluster.spec.observability.notify
    found: dict[str, tuple[str, Receiver | None]] = {}
    for owner in ("the platform", *(f"tenant {tenant.name}" for tenant in cluster.tenants)):
        for severity in get_args(get_args(Severity)[0]):
            routes = [route for route in (notify.routes if notify else ()) if severity in route.severities]
            own = [route.to for route in routes if f"tenant {route.tenant}" == owner]
            name = (*own, *(route.to for route in routes if route.tenant is None), "")[0]
            receiver = notify.receivers.get(name) if notify else None
            found[f"{severity} alerts of {owner}"] = (name or "no receiver", receiver)
    return found


@impact("IMP531", Level.NONE)
def rules_read_other_series(change: Change) -> Impacts:
    """The rules of Prometheus select the time series of the cluster by another label."""
    for path in change.changed_paths("spec", "observability", "prometheus", "clusterLabel"):
        yield Raised("alerts", "the rules read only the series with the label in clusterLabel", path=path)
