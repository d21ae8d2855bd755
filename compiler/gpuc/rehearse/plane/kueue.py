"""Kueue with its webhooks, without a Service network."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.kueue import GROUP
from gpuc.rehearse.client import DEFINITION, Client, Object, new_object
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.process import LOOPBACK, POLL_SECONDS, Process, ProgramError

NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
SECRET = "kueue-webhook-server-cert"
USER = f"system:serviceaccount:{NAMESPACE}:kueue-controller-manager"
"""The user name of Kueue's ServiceAccount.

Source: kueue v0.19.2 charts/kueue/templates/rbac/service_account.yaml
"""
CONVERTED_RESOURCES = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
"""Resources that need a conversion webhook, which the files of the CustomResourceDefinitions do not configure."""
CERTIFICATE_SECONDS = 30
NODE_REPLACEMENT = (
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASReplaceNodeDueToNotReadyOverFixedTime",
    "TASReplaceNodeOnNodeTaints",
    "TASReplaceNodeOnPodTermination",
)
"""Feature gates for the replacement of failed nodes.

Kueue finds a node by the hostname label, which equals the name of the node on EKS. With Karpenter's simulated provider,
the label and the name differ, so Kueue would replace healthy nodes.

Source: kueue v0.19.2 pkg/controller/tas/node_controller.go, pkg/features/kube_features.go
"""
_UNMANAGED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", NAMESPACE]}
_MANAGED_NAMESPACES = {"matchExpressions": [_UNMANAGED]}
"""Selector of the namespaces whose workloads Kueue manages.

Source: kueue v0.19.2 config/components/webhook/kustomization.yaml
"""


def prepare_webhooks(site: Site, client: Client, port: int) -> None:
    """Creates Kueue's webhook configurations and conversion webhooks. Kueue adds the CA certificate to these objects.

    A Service of type ExternalName leads to localhost. The API server connects to localhost, but still requires a
    certificate with the name of the Service. port is the port of the webhooks.
    """
    client.apply(new_object("v1", "Namespace", NAMESPACE))
    service = {"type": "ExternalName", "externalName": "localhost"}
    client.apply(new_object("v1", "Service", SERVICE, NAMESPACE, spec=service))
    client.create(new_object("v1", "Secret", SECRET, NAMESPACE))
    for configuration in _webhooks(site, port):
        client.create(configuration)
    convert = {"name": SERVICE, "namespace": NAMESPACE, "path": "/convert", "port": port}
    webhook = {"clientConfig": {"service": convert}, "conversionReviewVersions": ["v1"]}
    conversion = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    for plural in CONVERTED_RESOURCES:
        client.patch(*DEFINITION, f"{plural}.{GROUP}", conversion)


def start_kueue(site: Site, emitted: Mapping[str, Any], port: int) -> Process:
    """Starts Kueue with the emitted configuration, adapted to a process on this machine.

    Kueue has the user name of its ServiceAccount, because policies decide by the user who may start a gated pod.
    """
    health = site.port()
    certificates = site.subfolder("kueue-certificates")
    file = site.folder / "kueue.json"
    configuration = local_configuration(emitted, LOOPBACK, port, health, certificates)
    file.write_text(json.dumps(configuration))
    environment = {"KUBECONFIG": str(site.kubeconfig_of("kueue", USER))}
    return site.run("kueue", [f"--config={file}"], f"http://{LOOPBACK}:{health}/readyz", environment)


def mount_certificate(site: Site, client: Client, process: Process) -> None:
    """Copies Kueue's certificate from the Secret to the folder that Kueue reads, as a kubelet does.

    Raises:
        ProgramError: if Kueue creates no certificate in time.
    """
    folder = site.subfolder("kueue-certificates")
    deadline = time.monotonic() + CERTIFICATE_SECONDS
    while not (data := client.get("v1", "Secret", SECRET, NAMESPACE).get("data")):
        process.require_alive()
        if time.monotonic() > deadline:
            raise ProgramError(f"Kueue created no certificate in {CERTIFICATE_SECONDS} s:\n{process.tail()}")
        time.sleep(POLL_SECONDS)
    for name, content in data.items():
        (folder / name).write_bytes(base64.b64decode(content))


def local_configuration(
    installed: Mapping[str, Any], host: str, port: int, health: int, certificates: Path
) -> dict[str, Any]:
    """Returns Kueue's configuration for a process on this machine.

    Args:
        installed: the configuration of a cluster.
        host, port: the address of the webhooks.
        health: the port of the health checks.
        certificates: the folder with the certificate of the webhooks.
    """
    # Kueue's visibility server writes to a folder at the root of the file system.
    gates = dict.fromkeys(("VisibilityOnDemand", *NODE_REPLACEMENT), False)
    return {
        **installed,
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "metrics": {**installed.get("metrics", {}), "bindAddress": "0"},
        "webhook": {"host": host, "port": port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        "featureGates": {**installed.get("featureGates", {}), **gates},
    }


def _webhooks(site: Site, port: int) -> list[Object]:
    configurations: list[Object] = load_all_yaml(site.programs.data("kueue-webhooks.yaml").read_text(encoding="utf-8"))
    for configuration in configurations:
        configuration["metadata"] = {"name": f"kueue-{configuration['metadata']['name']}"}
        for webhook in configuration["webhooks"]:
            webhook["clientConfig"]["service"] |= {"name": SERVICE, "namespace": NAMESPACE, "port": port}
            if all(rule["apiGroups"] != [GROUP] for rule in webhook["rules"]):
                webhook["namespaceSelector"] = _MANAGED_NAMESPACES
    return configurations
