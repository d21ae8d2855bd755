"""The controller of LeaderWorkerSets with its webhooks, on the control plane of a rehearsal."""

from __future__ import annotations

import base64
import json
import socket
from pathlib import Path

from gpuc.emit.controllers import UPSTREAM, user
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process, http_probe
from gpuc.rehearse.programs import Programs

FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
NAMESPACE = "lws-system"
SERVICE = "lws-webhook-service"
NAME_LABEL = "leaderworkerset.sigs.k8s.io/name"
"""The label of every pod of a LeaderWorkerSet."""
USER = user(UPSTREAM[FRAMEWORK])


def crds(programs: Programs) -> tuple[bytes, ...]:
    """Returns the CustomResourceDefinitions. The controller ends at its start if one of them is missing."""
    return tuple(path.read_bytes() for path in sorted(programs.data("lws-crds").glob("*.yaml")))


def start_lws(site: Site, client: Client, programs: Programs) -> Process:
    """Starts the controller with the user name of its ServiceAccount, and creates its webhook configurations.

    A Service of type ExternalName leads to localhost. The API server connects to localhost, but still requires a
    certificate with the name of the Service.
    """
    port, health = site.port(), site.port()
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    metadata = {"name": SERVICE, "namespace": NAMESPACE}
    service = {"type": "ExternalName", "externalName": "localhost"}
    client.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
    file = site.folder / "lws.json"
    file.write_text(json.dumps(_configuration(port, health, _certificates(site))))
    environment = {"KUBECONFIG": str(site.kubeconfig_of("lws", USER))}
    is_healthy = http_probe(f"http://{LOOPBACK}:{health}/readyz")
    # The controller reports readiness before its webhooks listen.
    process = site.run_program(
        "lws", programs.path("lws"), [f"--config={file}"], lambda: is_healthy() and _listens(port), environment
    )
    for configuration in _webhooks(site, programs, port):
        client.create(configuration)
    return process


def _configuration(port: int, health: int, certificates: Path) -> Object:
    return {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"host": LOOPBACK, "port": port, "certDir": str(certificates)},
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "metrics": {"bindAddress": "0"},
    }


def _certificates(site: Site) -> Path:
    """Issues the certificate of the webhooks, and returns the folder with the files that the controller reads."""
    folder = site.subfolder("lws-certificates")
    certificate, key = site.authority.issue("lws", SERVICE, hosts=(f"{SERVICE}.{NAMESPACE}.svc", "localhost"))
    certificate.rename(folder / "tls.crt")
    key.rename(folder / "tls.key")
    return folder


def _webhooks(site: Site, programs: Programs, port: int) -> list[Object]:
    """Returns the webhook configurations of the release.

    Source of the object selector: kubernetes-sigs/lws v0.9.0 config/webhook/mutating-patch.yaml, validating-patch.yaml
    """
    from ruamel.yaml import YAML

    authority = base64.b64encode(site.authority.file.read_bytes()).decode()
    configurations: list[Object] = list(YAML(typ="safe").load_all(programs.data("lws-webhooks.yaml")))
    for configuration in configurations:
        configuration["metadata"] = {"name": f"lws-{configuration['metadata']['name']}"}
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["caBundle"] = authority
            webhook["clientConfig"]["service"] |= {"name": SERVICE, "namespace": NAMESPACE, "port": port}
            if any("pods" in rule["resources"] for rule in webhook["rules"]):
                webhook["objectSelector"] = {"matchExpressions": [{"key": NAME_LABEL, "operator": "Exists"}]}
    return configurations


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
