"""Gatekeeper's controller manager and its webhook."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from gpuc.admission.gatekeeper_scope import IGNORE_LABEL
from gpuc.manifest.manifest import Body
from gpuc.rehearse.client import Client
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process

NAMESPACE = "gatekeeper-system"
SERVICE = "gatekeeper-webhook-service"
POD = "gatekeeper"
AUDIT_SECONDS = 60
WEBHOOK_TIMEOUT_SECONDS = 10
SERVICE_ACCOUNT_SECONDS = 60
"""Maximum wait until the controller manager creates the default ServiceAccount of a namespace."""
OWN_GROUPS = ("templates.gatekeeper.sh", "constraints.gatekeeper.sh", "config.gatekeeper.sh", "expansion.gatekeeper.sh")
SUBRESOURCES = {"pods": ("ephemeralcontainers", "exec", "attach")}
"""Subresources by resource, as in the webhook configuration of Gatekeeper's chart."""


def start_gatekeeper(site: Site, port: int) -> Process:
    """Starts Gatekeeper without mutation. Gatekeeper creates policy bindings after 1 s instead of 30 s.

    port is the port of the webhook.
    """
    health = site.port()
    certificates = site.subfolder("gatekeeper-certificates")
    hosts = (f"{SERVICE}.{NAMESPACE}.svc", "localhost")
    certificate, key = site.authority.issue("gatekeeper", SERVICE, hosts=hosts)
    certificate.rename(certificates / "tls.crt")
    key.rename(certificates / "tls.key")
    arguments = [
        *(f"--operation={operation}" for operation in ("webhook", "status", "generate", "audit")),
        "--disable-cert-rotation",
        f"--cert-dir={certificates}",
        f"--host={LOOPBACK}",
        f"--port={port}",
        f"--api-cache-dir={site.subfolder('gatekeeper-cache')}",
        f"--audit-interval={AUDIT_SECONDS}",
        # An audit of every kind causes more load on the API server than all test cases.
        "--audit-match-kind-only",
        "--default-wait-for-vapb-generation=1",
        f"--health-addr={LOOPBACK}:{health}",
        f"--prometheus-port={site.port()}",
        "--shutdown-delay=0",
    ]
    environment = {"KUBECONFIG": str(site.kubeconfig), "POD_NAMESPACE": NAMESPACE, "POD_NAME": POD}
    return site.run("gatekeeper", arguments, f"http://{LOOPBACK}:{health}/readyz", environment)


def prepare_webhook(site: Site, client: Client, settings: Settings, port: int) -> None:
    """Creates the webhook configuration of Gatekeeper's chart, and a Service of type ExternalName for localhost.

    The webhook receives only the kinds that policies check and Gatekeeper's own kinds. The webhook of the chart
    receives all kinds, which takes a third of the CPU time on two cores.
    """
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    metadata = {"name": SERVICE, "namespace": NAMESPACE}
    service = {"type": "ExternalName", "externalName": "localhost"}
    client.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
    if settings.service_accounts:
        client.wait_for("v1", "ServiceAccount", "default", lambda _: True, SERVICE_ACCOUNT_SECONDS, NAMESPACE)
    client.create(_pod())
    client.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "gatekeeper-validating-webhook-configuration"},
            "webhooks": [_webhook(site, settings.policy_resources, port)],
        }
    )


def _pod() -> Body:
    """Returns the owner of Gatekeeper's status objects. Without this pod, the garbage collector deletes the objects."""
    container = {"name": "manager", "image": "gatekeeper"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD, "namespace": NAMESPACE},
        "spec": {"schedulerName": "none", "containers": [container]},
    }


def _webhook(site: Site, policy_resources: Iterable[tuple[str, str]], port: int) -> Body:
    """Returns the webhook with the default failure policy of Gatekeeper's chart.

    Source: gatekeeper v3.23.0 charts/gatekeeper/templates
    """
    authority = base64.b64encode(site.authority.file.read_bytes()).decode()
    service = {"name": SERVICE, "namespace": NAMESPACE, "path": "/v1/admit", "port": port}
    own = ((group, "*") for group in OWN_GROUPS)
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [resource, *(f"{resource}/{name}" for name in SUBRESOURCES.get(resource, ()))],
            "scope": "*",
        }
        for group, resource in (*policy_resources, *own)
    ]
    selected = [
        {"key": IGNORE_LABEL, "operator": "DoesNotExist"},
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE]},
    ]
    return {
        "name": "validation.gatekeeper.sh",
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": {"service": service, "caBundle": authority},
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "namespaceSelector": {"matchExpressions": selected},
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": WEBHOOK_TIMEOUT_SECONDS,
    }
