"""The simulated programs of charts that a spec adds: webhooks and objects of the charts' kinds."""

import base64
import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

from gpuc_rehearsal.argocd.simulated_controllers import SimulatedControllers
from gpuc_rehearsal.client import ApiError, Client
from gpuc_rehearsal.plane.site import Authority

SERVICE = {"namespace": "cert-manager", "name": "webhook", "path": "/validate"}


def definition(group: str, *, has_conditions: bool = True) -> dict[str, Any]:
    status = {"properties": {"conditions": {}} if has_conditions else {}}
    schema = {"openAPIV3Schema": {"properties": {"status": status}}}
    version = {"name": "v1", "storage": True, "schema": schema, "subresources": {"status": {}}}
    return {
        "metadata": {"name": f"issuers.{group}"},  # without a tracking annotation, as Argo CD applies definitions
        "spec": {"group": group, "names": {"kind": "Issuer"}, "versions": [version]},
    }


class Server:
    """A client of objects in memory."""

    def __init__(self, port: int) -> None:
        webhook = {"name": "w", "clientConfig": {"service": {**SERVICE, "port": port}}}
        self.objects: dict[str, list[dict[str, Any]]] = {
            "MutatingWebhookConfiguration": [],
            "ValidatingWebhookConfiguration": [
                {
                    "kind": "ValidatingWebhookConfiguration",
                    "metadata": {"name": "cert-manager", "resourceVersion": "7"},
                    "webhooks": [webhook],
                }
            ],
            "CustomResourceDefinition": [],
            "Pod": [],
            "Issuer": [{"metadata": {"name": "internal", "namespace": "a"}}],
        }
        self.patches: list[tuple[str, Any]] = []
        self.refusal: ApiError | None = None

    @property
    def webhook(self) -> dict[str, Any]:
        return cast(dict[str, Any], self.objects["ValidatingWebhookConfiguration"][0]["webhooks"][0])

    def serves(self, api: str, kind: str) -> bool:
        return kind in self.objects

    def list_all(self, api: str, kind: str, namespace: str = "", labels: str = "") -> list[dict[str, Any]]:
        assert kind != "Pod" or (namespace, labels) == ("cert-manager", "app=webhook")
        return [{"apiVersion": api, "kind": kind, **document} for document in deepcopy(self.objects[kind])]

    def find(self, api: str, kind: str, name: str, namespace: str) -> dict[str, Any]:
        return {"spec": {"selector": {"app": "webhook"}, "clusterIP": "127.0.0.1"}}

    def patch_object(self, document: dict[str, Any], changes: Any, subresource: str = "") -> None:
        if self.refusal:
            raise self.refusal
        self.patches.append((f"{document['kind']} {document['metadata']['name']} {subresource}".strip(), changes))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def server(port: int) -> Server:
    return Server(port)


@pytest.fixture
def charts(server: Server, authority: Authority) -> Iterator[SimulatedControllers]:
    made = SimulatedControllers(cast(Client, server), authority, {"kueue.x-k8s.io"}, {"cert-manager"})
    yield made
    made.stop()


def ask(port: int, authority: Authority, verb: str = "POST", path: str = "/validate?timeout=10s") -> Any:
    """Sends a request as the API server does, which checks the name of the Service; with POST an AdmissionReview."""
    context = ssl.create_default_context(cafile=str(authority.file))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10)
    raw = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sock = context.wrap_socket(raw, server_hostname="webhook.cert-manager.svc")
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u1"}}
    connection.request(verb, path, json.dumps(review) if verb == "POST" else None)
    content = json.loads(connection.getresponse().read())
    connection.close()
    return content


def test_b1_a_webhook_answers_only_while_a_pod_of_its_service_is_ready(
    charts: SimulatedControllers, server: Server, authority: Authority, port: int
) -> None:
    server.objects["Pod"] = [{"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}]
    charts.reconcile()
    with pytest.raises(ConnectionRefusedError):
        ask(port, authority)
    server.objects["Pod"] = [{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}]
    charts.reconcile()
    charts.reconcile()
    assert ask(port, authority)["response"] == {"uid": "u1", "allowed": True}
    server.objects["Pod"] = []
    charts.reconcile()
    with pytest.raises(ConnectionRefusedError):
        ask(port, authority)


def test_apis_of_the_charts_of_gpuc_are_there_and_empty(server: Server, authority: Authority, port: int) -> None:
    reference = {"namespace": "cert-manager", "name": "webhook", "port": port}
    server.objects["APIService"] = [{"spec": {"service": reference}}, {"spec": {}}]
    server.objects["Pod"] = [{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}]
    made = SimulatedControllers(cast(Client, server), authority, (), (), ["cert-manager"])
    made.reconcile()
    answer = ask(port, authority, "GET", "/apis/visibility.kueue.x-k8s.io/v1beta2?timeout=5s")
    assert (answer["groupVersion"], answer["resources"]) == ("visibility.kueue.x-k8s.io/v1beta2", [])
    assert ask(port, authority, "GET", "/openapi/v2") == {}
    made.stop()


def test_b1_the_authority_is_written_once_with_the_version_that_was_read(
    charts: SimulatedControllers, server: Server, authority: Authority
) -> None:
    charts.reconcile()
    [(changed, changes)] = server.patches
    assert changed == "ValidatingWebhookConfiguration cert-manager"
    assert changes["metadata"] == {"resourceVersion": "7"}
    [webhook] = changes["webhooks"]
    assert base64.b64decode(webhook["clientConfig"]["caBundle"]) == authority.file.read_bytes()
    server.objects["ValidatingWebhookConfiguration"][0]["webhooks"] = changes["webhooks"]
    charts.reconcile()
    assert len(server.patches) == 1


@pytest.mark.parametrize("change", [{"caBundle": "T1RIRVI="}, {"service": {**SERVICE, "namespace": "kueue-system"}}])
def test_b1_other_webhooks_are_left_alone(charts: SimulatedControllers, server: Server, change: dict[str, Any]) -> None:
    server.webhook["clientConfig"].update(change)
    server.objects["Pod"] = [{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}]
    charts.reconcile()
    assert server.patches == []


def test_b1_objects_of_the_charts_kinds_become_ready(charts: SimulatedControllers, server: Server) -> None:
    server.objects["ValidatingWebhookConfiguration"] = []
    server.objects["CustomResourceDefinition"] = [
        definition("kueue.x-k8s.io"), definition("cert-manager.io", has_conditions=False)
    ]  # fmt: skip
    charts.reconcile()
    assert server.patches == []
    server.objects["CustomResourceDefinition"] = [definition("cert-manager.io")]
    charts.reconcile()
    [(changed, changes)] = server.patches
    assert changed == "Issuer internal status"
    assert changes["status"]["conditions"][0]["type"] == "Ready"
    server.objects["Issuer"][0] |= changes
    charts.reconcile()
    assert len(server.patches) == 1


def test_b1_a_kind_with_conditions_of_another_form_stays_as_it_is(charts: SimulatedControllers, server: Server) -> None:
    server.objects["ValidatingWebhookConfiguration"] = []
    server.objects["CustomResourceDefinition"] = [definition("cert-manager.io")]
    server.refusal = ApiError(422, "conditions[0].observedGeneration: Required value")
    charts.reconcile()
    server.refusal = ApiError(503, "etcd is not ready")
    with pytest.raises(ApiError):
        charts.reconcile()
