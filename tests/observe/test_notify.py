"""Each alert reaches the receiver that the spec names, by the operator's own conversion and the real Alertmanager."""

import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpuc.emit.alerts import alerts
from tests.conftest import HUB_CLUSTERS, example
from tests.emit import fleet
from tests.observe.notify_programs import Labels, alertmanager_programs, converted, converter, delivered, running

CLUSTERS = ("prod-use1", *HUB_CLUSTERS)
VERSION = "0.25.0"
"""The version in Debian 12, for which the operator converts."""
WORKING = ("None", "OnNamespaceExceptForAlertmanagerNamespace")
OTHERS = {"hostname": "node-1", "node": "node-1", "gpu": "0", "pod": "trainer-0", "xid": "79"}
"""The values of the labels of series that name no tenant."""
SLACK = "https://hooks.slack.example/services/T0/B0/x"
pytestmark = pytest.mark.slow


def config(cluster: str) -> dict[str, Any]:
    """Returns the AlertmanagerConfig of a cluster, as an object."""
    (manifest,) = (item for item in fleet.manifests(cluster, "monitoring") if item.kind == "AlertmanagerConfig")
    metadata = {"name": manifest.name, "namespace": manifest.namespace}
    return {"apiVersion": manifest.api, "kind": manifest.kind, "metadata": metadata, **manifest.body}


def secrets(notify: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the Secrets that the receivers name."""
    found: dict[str, dict[str, str]] = {}
    for name, key in _keys(notify):
        found.setdefault(name, {})[key] = SLACK if key in ("url", "research") else "0123456789abcdef0123456789abcdef"
    for name, values in found.items():
        metadata = {"name": name, "namespace": "monitoring"}
        data = {key: b64encode(value.encode()).decode() for key, value in values.items()}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _keys(value: Any) -> Iterator[tuple[str, str]]:
    """Yields the name and the key of each reference to a Secret."""
    if isinstance(value, dict):
        if value.keys() == {"name", "key"}:
            yield value["name"], value["key"]
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _keys(part)


@cache
def sent(cluster: str) -> tuple[Labels, ...]:
    """Returns the labels of alerts: of each rule once for each tenant, and once for names of no tenant."""
    owners = [
        (tenant.namespaces[0].name, tenant.queues[0].name if tenant.queues else "x") for tenant in tenants(cluster)
    ]
    rules = [
        rule
        for manifest in fleet.manifests(cluster, "monitoring")
        if manifest.kind == "PrometheusRule"
        for group in manifest.body["spec"]["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    found = {}
    for rule in rules:
        names = re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))
        for namespace, queue in (*owners, ("kube-system", "other")):
            values = {**OTHERS, "namespace": namespace, "cluster_queue": queue}
            labels = {"alertname": rule["alert"], **{name: values.get(name, "x") for name in names}, **rule["labels"]}
            found[tuple(sorted(labels.items()))] = labels
    return tuple(found.values())


def tenants(cluster: str) -> tuple[Any, ...]:
    return example(cluster).tenants


def receiver(cluster: str, labels: Labels) -> str:
    """Returns the receiver that the spec names for an alert, read from the spec alone."""
    spec, audience = example(cluster).spec, {alert.name: alert.audience for alert in alerts(example(cluster))}
    owner = owner_of(cluster, audience[labels["alertname"]], labels)
    routes = [route for route in spec.observability.notify.routes if labels["severity"] in route.severities]
    own = [route.to for route in routes if route.tenant == owner and owner is not None]
    return [*own, *(route.to for route in routes if route.tenant is None), "none"][0]


def owner_of(cluster: str, audience: str, labels: Labels) -> str | None:
    """Returns the tenant of an alert: of the namespace, or of the queue if it has only one."""
    for tenant in tenants(cluster):
        namespaces = [namespace.name for namespace in tenant.namespaces]
        queues = [part.name for queue in tenant.queues if len(queue.tenant_names) == 1 for part in queue.cluster_queues]
        if labels.get(audience) in {"namespace": namespaces, "cluster_queue": queues}.get(audience, []):
            return str(tenant.name)
    return None


def configuration(cluster: str, strategy: str) -> str:
    notify = config(cluster)
    return converted(converter(), strategy, VERSION, [notify, *secrets(notify)])


@pytest.mark.parametrize("strategy", ["OnNamespace", *WORKING])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_amtool_accepts_what_the_operator_makes(tmp_path: Path, cluster: str, strategy: str) -> None:
    _, amtool = alertmanager_programs()
    (tmp_path / "config.yaml").write_text(configuration(cluster, strategy))
    command = (amtool, "check-config", tmp_path / "config.yaml")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("strategy", WORKING)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_each_alert_reaches_its_receiver(tmp_path: Path, cluster: str, strategy: str) -> None:
    server, _ = alertmanager_programs()
    with running(server, configuration(cluster, strategy), tmp_path) as url:
        found = delivered(url, sent(cluster))
    expected = {tuple(sorted(labels.items())): {receiver(cluster, labels)} for labels in sent(cluster)}
    assert {labels: set(names) for labels, (names, _) in found.items()} == expected
    assert set().union(*expected.values()) >= {"on-call", "platform"}


def test_the_routes_of_prod_use1(tmp_path: Path) -> None:
    """The same as above with the receivers written down."""
    server, _ = alertmanager_programs()
    rows: dict[str, tuple[Labels, str]] = {
        "idle": ({"alertname": "GpucIdleGpu", "namespace": "research-lab", "severity": "warning"}, "research"),
        "serving": ({"alertname": "GpucIdleGpu", "namespace": "search-serving", "severity": "warning"}, "search"),
        "no route": ({"alertname": "GpucIdleGpu", "namespace": "embeddings", "severity": "warning"}, "platform"),
        "queue": ({"alertname": "GpucQueueStuck", "cluster_queue": "search-cpu", "severity": "warning"}, "search"),
        "xid": ({"alertname": "GpucXid", "hostname": "a", "severity": "critical"}, "on-call"),
        "news": ({"alertname": "GpucRowRemapPending", "hostname": "a", "severity": "info"}, "platform"),
        "others": ({"alertname": "KubeNodeNotReady", "node": "a", "severity": "critical"}, "null"),
    }
    labels = [{**row, "cluster": "prod-use1"} for row, _ in rows.values()]
    elsewhere = {"alertname": "GpucXid", "cluster": "other", "severity": "critical"}
    with running(server, configuration("prod-use1", "None"), tmp_path) as url:
        found = delivered(url, [*labels, elsewhere])
    for row, (_, name) in zip(labels, rows.values(), strict=True):
        assert found[tuple(sorted(row.items()))][0] == {name}, row
    assert found[tuple(sorted(elsewhere.items()))][0] == {"null"}


def test_with_the_default_strategy_no_alert_reaches_a_receiver(tmp_path: Path) -> None:
    """OnNamespace: only an alert with the namespace of the object reaches the first route."""
    server, _ = alertmanager_programs()
    with running(server, configuration("prod-use1", "OnNamespace"), tmp_path) as url:
        found = delivered(url, sent("prod-use1"))
    assert {names for names, _ in found.values()} == {frozenset({"null"})}


@pytest.mark.parametrize("strategy", ["OnNamespace", *WORKING])
def test_a_lost_node_silences_its_gpus(tmp_path: Path, strategy: str) -> None:
    server, _ = alertmanager_programs()
    lost = {"alertname": "GpucTelemetryMissing", "hostname": "a", "cluster": "prod-use1", "severity": "critical"}
    on_it = {**lost, "alertname": "GpucXid", "gpu": "0"}
    on_another, in_another = {**on_it, "hostname": "b"}, {**on_it, "cluster": "other"}
    expected = [] if strategy == "OnNamespace" else [tuple(sorted(on_it.items()))]
    with running(server, configuration("prod-use1", strategy), tmp_path) as url:
        found = delivered(url, [lost, on_it, on_another, in_another], silences=len(expected))
    assert [labels for labels, delivery in found.items() if delivery.is_silenced] == expected


def test_the_operator_refuses_a_route_without_its_receiver() -> None:
    """The reason of rule NTF001."""
    notify = deepcopy(config("prod-use1"))
    notify["spec"]["route"]["receiver"] = "missing"
    with pytest.raises(subprocess.CalledProcessError) as refused:
        converted(converter(), "None", VERSION, [notify, *secrets(notify)])
    assert 'receiver "missing" not found' in refused.value.stderr


def test_the_operator_refuses_an_object_whose_secret_is_missing() -> None:
    """The reason of the prerequisite `secret`: one missing key, and no receiver of the object works."""
    notify = config("prod-use1")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        converted(converter(), "None", VERSION, [notify, *list(secrets(notify))[1:]])
    assert "gpu-pagerduty" in refused.value.stderr
