"""Notifications about alerts: the section `observability.notify` of the spec as an AlertmanagerConfig.

The operator adds a matcher for the namespace of the AlertmanagerConfig to its first route and to all inhibitions. With
this matcher, most alerts would not match, because they have no label namespace. The operator adds no matcher in two
cases: the Alertmanager has the matcher strategy None, or the strategy OnNamespaceExceptForAlertmanagerNamespace and the
namespace of the AlertmanagerConfig. So the prerequisite `alertmanager` names the strategy.

Source: prometheus-operator v0.93.0 pkg/alertmanager/amcfg.go (getEnforcer, processRoute, processInhibitRule)
"""

from collections.abc import Collection, Iterator
from typing import Any

from gpuc.emit.alerts import alerts
from gpuc.emit.alerts.alert import any_of
from gpuc.manifest.manifest import Body, Kind
from gpuc.model import Cluster, Tenant
from gpuc.spec.notify import Email, Integration, Notify, PagerDuty, Receiver, Route, Slack
from gpuc.spec.platform import Observability

KIND: Kind = ("monitoring.coreos.com", "AlertmanagerConfig")
NO_RECEIVER = "none"
"""The receiver for alerts that match no other route; it sends nothing. The first route must have a receiver."""
_SUMMARIES = '{{ range .Alerts }}{{ .Labels.severity }}: {{ .Annotations.summary }}{{ "\\n" }}{{ end }}'


def notification_spec(cluster: Cluster, notify: Notify) -> Body:
    """Returns the spec of the AlertmanagerConfig.

    The first route takes only the alerts of gpuc and of this cluster: with the matcher strategy None, the first route
    gets all alerts of the Alertmanager. The operator also sets `continue`, so other routes of the Alertmanager still
    apply.
    """
    return {
        "receivers": [
            {"name": NO_RECEIVER},
            *({"name": name, **_configuration(receiver)} for name, receiver in notify.receivers.items()),
        ],
        "route": {
            "receiver": NO_RECEIVER,
            "groupBy": ["alertname", "cluster", "severity"],
            "matchers": [
                {"name": "alertname", "value": "Gpuc.+", "matchType": "=~"},
                _matcher("cluster", [cluster.name]),
            ],
            "routes": list(_routes(cluster, notify.routes)),
        },
        "inhibitRules": list(_inhibitions(cluster)),
    }


def secret_keys(observability: Observability) -> dict[str, list[str]]:
    """Returns the keys that the receivers of notifications read, by the name of the Secret."""
    found: dict[str, list[str]] = {}
    for receiver in observability.notify.receivers.values() if observability.notify else ():
        secret = _secret(receiver.integration)
        found.setdefault(secret["name"], []).append(secret["key"])
    return {name: list(dict.fromkeys(keys)) for name, keys in found.items()}


def _configuration(receiver: Receiver) -> Body:
    """Returns the integration of a receiver. All of them also tell that an alert has ended."""
    integration, secret = receiver.integration, _secret(receiver.integration)
    common = {"sendResolved": True}
    if isinstance(integration, Slack):
        return {"slackConfigs": [{**common, "apiURL": secret, "channel": integration.channel, "text": _SUMMARIES}]}
    if isinstance(integration, PagerDuty):
        severity = "{{ .CommonLabels.severity }}"
        return {"pagerdutyConfigs": [{**common, "routingKey": secret, "severity": severity}]}
    if isinstance(integration, Email):
        mail = {"to": integration.to, "from": integration.sender, "smarthost": integration.server}
        return {"emailConfigs": [{**common, **mail, "authUsername": integration.sender, "authPassword": secret}]}
    return {"webhookConfigs": [{**common, "urlSecret": secret}]}


def _secret(integration: Integration) -> dict[str, str]:
    return {"name": integration.secret.name, "key": integration.secret.key or integration.default_key}


def _routes(cluster: Cluster, routes: Collection[Route]) -> Iterator[Body]:
    """Yields the routes of tenants before those of the platform. Alertmanager uses the first route that matches."""
    tenants = {tenant.name: tenant for tenant in cluster.tenants}
    for route in routes:
        if route.tenant in tenants:
            yield from _tenant_routes(cluster, tenants[route.tenant], route)
    for route in routes:
        if route.tenant is None:
            yield {"receiver": route.to, "matchers": [_matcher("severity", route.severities)]}


def _tenant_routes(cluster: Cluster, tenant: Tenant, route: Route) -> Iterator[Body]:
    """Yields the routes of a tenant: for alerts with its namespaces, and for alerts with queues of only this tenant."""
    queues = [queue for queue in tenant.queues if queue.tenant_names == (tenant.name,)]
    values = {
        "namespace": [namespace.name for namespace in tenant.namespaces],
        "cluster_queue": [part.name for queue in queues for part in queue.cluster_queues],
    }
    for label, names in values.items():
        of_tenants = sorted({alert.name for alert in alerts(cluster) if alert.audience == label})
        if names and of_tenants:
            matchers = [_matcher("alertname", of_tenants), _matcher(label, names)]
            yield {"receiver": route.to, "matchers": [*matchers, _matcher("severity", route.severities)]}


def _inhibitions(cluster: Cluster) -> Iterator[Body]:
    known = {alert.name: alert for alert in alerts(cluster)}
    for name, alert in known.items():
        for label, others in alert.silences.items():
            targets = [other for other in others if other in known]
            if targets:
                sides = {"sourceMatch": [_matcher("alertname", [name])]}
                yield {**sides, "targetMatch": [_matcher("alertname", targets)], "equal": ["cluster", label]}


def _matcher(label: str, values: Collection[str]) -> dict[str, Any]:
    """Returns the matcher for a label with one of the values, which contain no characters of regular expressions.

    Without a type, a matcher compares for equality. The type "=" itself has a meaning in YAML 1.1.
    """
    return {"name": label, "value": any_of(values), **({"matchType": "=~"} if len(values) > 1 else {})}
