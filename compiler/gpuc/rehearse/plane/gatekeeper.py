"""Gatekeeper's manager with its webhook: what it compiles, the API server enforces as well."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from gpuc.manifest.manifest import Body
from gpuc.rehearse.client import Client
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process

NAMESPACE = "gatekeeper-system"
SERVICE = "gatekeeper-webhook-service"
POD = "gatekeeper"
IGNORE_LABEL = "admission.gatekeeper.sh/ignore"
AUDIT_SECONDS = 60
WEBHOOK_TIMEOUT_SECONDS = 10
OWN_GROUPS = ("templates.gatekeeper.sh", "constraints.gatekeeper.sh", "config.gatekeeper.sh", "expansion.gatekeeper.sh")
SUBRESOURCES = {"pods": ("ephemeralcontainers", "exec", "attach")}
"""Parts of an object that the chart's webhook names beside the object."""


def start_gatekeeper(site: Site, port: int) -> Process:
    """The manager with all duties but mutation; the binding of a policy waits a second for the policy, not thirty."""
    health = site.port()
    certificates = site.subfolder("gatekeeper-certificates")
    hosts = (f"{SERVICE}.{NAMESPACE}.svc", "localhost")
    certificate, key = site.authority.issue("gatekeeper", SERVICE, hosts=hosts)
    certificate.rename(certificates / "tls.crt")
    key.rename(certificates / "tls.key")
    arguments = [
        *(f"--operation={duty}" for duty in ("webhook", "status", "generate", "audit")),
        "--disable-cert-rotation",
        f"--cert-dir={certificates}",
        f"--host={LOOPBACK}",
        f"--port={port}",
        f"--api-cache-dir={site.subfolder('gatekeeper-cache')}",
        f"--audit-interval={AUDIT_SECONDS}",
        # An audit of every kind takes more of the API server than all scenes together.
        "--audit-match-kind-only",
        "--default-wait-for-vapb-generation=1",
        f"--health-addr={LOOPBACK}:{health}",
        f"--prometheus-port={site.port()}",
        "--shutdown-delay=0",
    ]
    environment = {"KUBECONFIG": str(site.kubeconfig), "POD_NAMESPACE": NAMESPACE, "POD_NAME": POD}
    return site.run("gatekeeper", arguments, f"http://{LOOPBACK}:{health}/readyz", environment)


def prepare_webhook(site: Site, client: Client, settings: Settings, port: int) -> None:
    """The webhook that its chart installs, led to its port on this machine by a Service of type ExternalName.

    It is asked about what some policy judges, and about Gatekeeper's own kinds: the chart's has it asked about
    everything, which for two cores is a third of all work.
    """
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    metadata = {"name": SERVICE, "namespace": NAMESPACE}
    service = {"type": "ExternalName", "externalName": "localhost"}
    client.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
    client.create(_pod())
    client.create(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "gatekeeper-validating-webhook-configuration"},
            "webhooks": [_webhook(site, settings.judged, port)],
        }
    )


def _pod() -> Body:
    """The pod that the manager takes itself for: its statuses belong to it, and without it they count as garbage."""
    container = {"name": "manager", "image": "gatekeeper"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD, "namespace": NAMESPACE},
        "spec": {"schedulerName": "none", "containers": [container]},
    }


def _webhook(site: Site, judged: Iterable[tuple[str, str]], port: int) -> Body:
    """Source: gatekeeper v3.23.0 charts/gatekeeper/templates; it ignores failures, as the chart's default does."""
    authority = base64.b64encode(site.authority.file.read_bytes()).decode()
    service = {"name": SERVICE, "namespace": NAMESPACE, "path": "/v1/admit", "port": port}
    own = ((group, "*") for group in OWN_GROUPS)
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [resource, *(f"{resource}/{part}" for part in SUBRESOURCES.get(resource, ()))],
            "scope": "*",
        }
        for group, resource in (*judged, *own)
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
