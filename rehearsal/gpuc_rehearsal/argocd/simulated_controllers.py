"""Simulates the controllers that a rehearsal with Argo CD does not run.

These are the controllers of a cloud, the GPU Operator, and the programs of charts that users add in the spec. kwok
makes the pods of these charts ready as soon as the scheduler has found nodes, although the programs in their images do
not run. This is enough to find mistakes in a spec: nodes, order, permissions and names.
"""

import base64
import json
from collections.abc import Callable, Collection
from typing import Any

from msgspec import Struct, field

from gpuc.kubernetes.api_groups import ADMISSION_API
from gpuc_rehearsal.argocd.servers import QuietHandler, start_server
from gpuc_rehearsal.autoscaler import autoscalers
from gpuc_rehearsal.client import DEFINITION, ApiError, Client, Object, is_true, now_text
from gpuc_rehearsal.plane.site import Authority

CLUSTER_POLICY = ("nvidia.com/v1", "ClusterPolicy")
API_SERVICE = ("apiregistration.k8s.io/v1", "APIService")
WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")

Endpoint = tuple[str, str, int]
"""(namespace, name, port) of a Service."""


class SimulatedControllers(Struct):
    """The simulated controllers that act on the objects of one control plane."""

    client: Client
    authority: Authority
    known_groups: Collection[str]
    """The API groups whose definitions do not come from the charts of users.

    Argo CD notes on no definition which chart brought it: argo-cd v3.5.7 reposerver/repository/repository.go (IsCRD).
    """
    namespaces: Collection[str]
    """The namespaces of the charts."""
    api_namespaces: Collection[str] = ()
    """Namespaces of gpuc's charts. Kueue's visibility server is off there, and the API server is unhealthy without the
    APIs of an APIService."""
    _servers: dict[Endpoint, Callable[[], None]] = field(default_factory=dict)
    """Functions that stop the servers of webhooks, by Service."""

    def reconcile(self) -> None:
        """Simulates one round of the controllers: sets the status of objects, and starts the servers of webhooks.

        The objects are those of a cloud, the ClusterPolicy, and the custom resources of charts that users add. A server
        starts when a pod of its webhook is ready.
        """
        for autoscaler in autoscalers():
            autoscaler.reconcile(self.client)
        for policy in list_served(self.client, CLUSTER_POLICY):
            if policy.get("status", {}).get("state") != "ready":
                status = {"state": "ready", "namespace": "gpu-operator"}
                patch_present(self.client, policy, {"status": status}, "status")
        for kind in WEBHOOKS if self.namespaces else ():
            for configuration in self.client.list_all(ADMISSION_API, kind):
                self._serve(configuration)
        for document in self.client.list_all(*API_SERVICE) if self.api_namespaces else ():
            service = document["spec"].get("service") or {}
            if service.get("namespace") in self.api_namespaces:
                self._serve_service(service["namespace"], service["name"], int(service.get("port", 443)))
        for definition in self.client.list_all(*DEFINITION) if self.namespaces else ():
            if definition["spec"]["group"] not in self.known_groups:
                self._make_ready(definition)

    def stop(self) -> None:
        """Stops all servers of webhooks."""
        for stop_server in self._servers.values():
            stop_server()

    def _serve(self, configuration: Object) -> None:
        """Serves the webhooks of a configuration, and writes the certificate authority as the chart's program would.

        A webhook with a caBundle of its chart gets no server, because Argo CD would restore the caBundle.
        """
        authority = base64.b64encode(self.authority.file.read_bytes()).decode()
        webhooks: list[Any] = configuration.get("webhooks", [])
        simulated = [
            client
            for client in (webhook["clientConfig"] for webhook in webhooks)
            if client.get("service", {}).get("namespace") in self.namespaces
            and client.get("caBundle", authority) == authority
        ]
        for client in simulated:
            service = client["service"]
            self._serve_service(service["namespace"], service["name"], int(service.get("port", 443)))
        if any("caBundle" not in client for client in simulated):
            for client in simulated:
                client["caBundle"] = authority
            version = {"resourceVersion": configuration["metadata"]["resourceVersion"]}
            self.client.patch_object(configuration, {"metadata": version, "webhooks": webhooks})

    def _serve_service(self, namespace: str, name: str, port: int) -> None:
        """Serves webhooks and APIs at the address of a Service while a pod of the Service is ready."""
        endpoint = namespace, name, port
        service = self.client.find("v1", "Service", name, namespace) or {}
        selector = service.get("spec", {}).get("selector") or {}
        labels = ",".join(f"{key}={value}" for key, value in selector.items())
        pods = self.client.list_all("v1", "Pod", namespace, labels=labels) if labels else []
        has_ready_pod = any(is_true(pod, "Ready") for pod in pods)
        if has_ready_pod and endpoint not in self._servers:
            host = f"{name}.{namespace}.svc"
            files = self.authority.issue(f"webhook-{namespace}-{name}", name, hosts=(host,))
            address = service["spec"]["clusterIP"], port
            self._servers[endpoint] = start_server("service", address, _Simulated, files)
        elif not has_ready_pod and endpoint in self._servers:
            self._servers.pop(endpoint)()

    def _make_ready(self, definition: Object) -> None:
        """Gives the condition Ready to all objects of a kind whose status has conditions."""
        spec = definition["spec"]
        version = next(version for version in spec["versions"] if version["storage"])
        status = version["schema"]["openAPIV3Schema"].get("properties", {}).get("status", {})
        if "conditions" not in status.get("properties", {}):
            return
        subresource = "status" if "status" in version.get("subresources", {}) else ""
        for document in list_served(self.client, (f"{spec['group']}/{version['name']}", spec["names"]["kind"])):
            if not is_true(document, "Ready"):
                # The conditions of a kind can have another form.
                patch_present(self.client, document, {"status": {"conditions": [ready()]}}, subresource, ignored=422)


def list_served(client: Client, kind: tuple[str, str]) -> list[Object]:
    """Returns all objects of a kind. The result is empty if the API server does not know the kind."""
    return client.list_all(*kind) if client.serves(*kind) else []


def patch_present(client: Client, document: Object, changes: Object, subresource: str = "", ignored: int = 404) -> None:
    """Patches an object. Ignores an error with the code `ignored`, and 404 if the object was deleted meanwhile."""
    try:
        client.patch_object(document, changes, subresource)
    except ApiError as error:
        if error.code not in (404, ignored):
            raise


def ready() -> Object:
    """Returns a condition for the status of an object, with type Ready, status True and the current time."""
    return {"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": now_text()}


def allowed(review: Object) -> Object:
    """Returns the response of a webhook that allows the request in an AdmissionReview."""
    response = {"uid": review["request"]["uid"], "allowed": True}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


class _Simulated(QuietHandler):
    def do_GET(self) -> None:  # noqa: N802
        """Answers a request for an API with an empty list of resources."""
        segments = self.path.partition("?")[0].strip("/").split("/")
        version = {"apiVersion": "v1", "groupVersion": "/".join(segments[1:])}
        is_api = segments[0] == "apis" and len(segments) == 3
        self.answer_json(*((200, {"kind": "APIResourceList", **version, "resources": []}) if is_api else (404, {})))

    def do_POST(self) -> None:  # noqa: N802
        self.answer_json(200, allowed(json.loads(self.body())))
