"""Rules about the routes of notifications: the receivers and tenants that they name, and the alerts that they match."""

from collections.abc import Iterator, Mapping

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.diagnostics.spelling import nearest
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.spec.notify import Route

NOTIFY: Path = ("spec", "observability", "notify")


def _routes(cluster: Cluster) -> Iterator[tuple[Path, Route]]:
    """Yields the path and the route of each entry."""
    observability = cluster.spec.observability
    notify = observability.notify if observability else None
    for index, route in enumerate(notify.routes if notify else ()):
        yield (*NOTIFY, "routes", index), route


@rule("NTF001")
def unknown_receiver(cluster: Cluster) -> Findings:
    """A route of notifications names a receiver that the spec does not define."""
    observability = cluster.spec.observability
    receivers = observability.notify.receivers if observability and observability.notify else {}
    for path, route in _routes(cluster):
        if route.to not in receivers:
            yield _unknown("receiver", route.to, receivers, (*path, "to"))


@rule("NTF002")
def unknown_tenant(cluster: Cluster) -> Findings:
    """A route of notifications names a tenant that the spec does not define."""
    tenants = {tenant.name: tenant for tenant in cluster.tenants}
    for path, route in _routes(cluster):
        if route.tenant is not None and route.tenant not in tenants:
            yield _unknown("tenant", route.tenant, tenants, (*path, "tenant"))


def _unknown(noun: str, name: str, known: Mapping[str, object], path: Path) -> Found:
    meant = nearest(name, known)
    expected = " or ".join(known) or f"a {noun} in the spec"
    message = f"{noun} {name} of a route does not exist; expected {expected}"
    return Found(path, message, f"write {meant}" if meant else "")


@rule("NTF003")
def routes_overlap(cluster: Cluster) -> Findings:
    """Two routes of notifications match the same alerts, so the second route has no effect."""
    first: dict[tuple[str | None, str], Path] = {}
    for path, route in _routes(cluster):
        for index, severity in enumerate(route.severities):
            key, place = (route.tenant, severity), (*path, "severities", index)
            if key in first:
                whose = f"of tenant {route.tenant}" if route.tenant else "of the platform"
                message = (
                    f"two routes take {severity} alerts {whose}; expected one, because Alertmanager uses the first"
                )
                place = place if "severities" in route.model_fields_set else path
                yield Found(place, message, related=[Related("the first route", first[key])])
            first.setdefault(key, path)


@rule("NTF101", Severity.WARNING)
def critical_without_route(cluster: Cluster) -> Findings:
    """No route of notifications matches the critical alerts of the platform."""
    routes = [route for _, route in _routes(cluster)]
    if routes and not any(route.tenant is None and "critical" in route.severities for route in routes):
        message = "no route without a tenant takes critical alerts; expected one with critical"
        yield Found((*NOTIFY, "routes"), message, on_key=True)
