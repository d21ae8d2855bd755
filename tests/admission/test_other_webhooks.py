"""Webhooks that gpuc does not model."""

from typing import Any

import pytest

from gpuc.admission.other_webhooks import webhook_decisions
from gpuc.manifest.manifest import Manifest
from tests.admission.cluster import manifest, objects, pod

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def _webhook(rule: Any = None, service: str = "other", **fields: Any) -> Manifest:
    client = {"service": {"name": service, "namespace": "x"}}
    webhook = {"name": "a.example.com", "clientConfig": client, "rules": [{**RULE, **(rule or {})}], **fields}
    kind = "ValidatingWebhookConfiguration"
    return manifest("admissionregistration.k8s.io/v1", kind, "other", {"webhooks": [webhook]})


MATCHES = [
    _webhook(),
    _webhook({"apiGroups": ["*"], "resources": ["*/*"], "operations": ["*"], "scope": "Namespaced"}),
    _webhook({"apiVersions": ["v1beta1"]}),
    _webhook(namespaceSelector={"matchLabels": {"team": "a"}}),
    _webhook(matchConditions=[{"name": "never", "expression": "false"}]),
]
DIFFERS = [
    _webhook({"operations": ["UPDATE"]}),
    _webhook({"apiGroups": ["batch"]}),
    _webhook({"resources": ["pods/exec"]}),
    _webhook({"scope": "Cluster"}),
    _webhook({"apiVersions": ["v1beta1"]}, matchPolicy="Exact"),
    _webhook(namespaceSelector={"matchLabels": {"team": "b"}}),
    _webhook(objectSelector={"matchExpressions": [{"key": "x", "operator": "Exists"}]}),
    _webhook(service="kueue-webhook-service"),
    _webhook(service="gatekeeper-webhook-service"),
]


@pytest.mark.parametrize("configuration", MATCHES)
def test_c27_a_webhook_can_deny_the_pod(configuration: Manifest) -> None:
    (decision,) = webhook_decisions(objects(configuration, labels={"team": "a"}), pod())
    assert (decision.outcome, decision.check, decision.path) == ("unknown", "webhook a.example.com", ("webhooks", 0))


@pytest.mark.parametrize("configuration", DIFFERS)
def test_a_webhook_does_not_apply(configuration: Manifest) -> None:
    assert not list(webhook_decisions(objects(configuration, labels={"team": "a"}), pod()))


@pytest.mark.parametrize(("chart", "expected"), [("kueue", 0), ("jobset", 0), ("volcano", 1), ("unknown", 1)])
def test_charts_can_have_webhooks(chart: str, expected: int) -> None:
    body = {"spec": {"source": {"chart": chart, "repoURL": "https://charts.example.com"}}}
    rows = list(webhook_decisions(objects(manifest("argoproj.io/v1alpha1", "Application", chart, body)), pod()))
    assert [(row.outcome, row.check) for row in rows] == [("unknown", f"webhooks of chart {chart}")] * expected
