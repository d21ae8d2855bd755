"""Starts Kueue and Gatekeeper. The API server reaches their webhooks on loopback, without a network for Services."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpuc.documents.reader import load_all_yaml
from gpuc.kubernetes.kueue import GROUP
from gpuc_rehearsal.client import DEFINITION, Client, Object, new_object
from gpuc_rehearsal.plane.site import Settings, Site, flags
from gpuc_rehearsal.process import LOOPBACK, Process, ProgramError, poll

NAMESPACE = "kueue-system"
SERVICE = "kueue-webhook-service"
SECRET = "kueue-webhook-server-cert"
USER = f"system:serviceaccount:{NAMESPACE}:kueue-controller-manager"
"""The user name of Kueue's ServiceAccount.

Source: kueue v0.19.2 charts/kueue/templates/rbac/service_account.yaml
"""
CONVERTED_RESOURCES = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
"""Resources that need a conversion webhook. The files of the CustomResourceDefinitions do not configure the webhook."""
CERTIFICATE_SECONDS = 30
NODE_REPLACEMENT = (
    "TASFailedNodeReplacement",
    "TASFailedNodeReplacementFailFast",
    "TASReplaceNodeDueToNotReadyOverFixedTime",
    "TASReplaceNodeOnNodeTaints",
    "TASReplaceNodeOnPodTermination",
)
"""Feature gates for the replacement of failed nodes.

Kueue finds a node by the hostname label, which equals the name of the node in a cluster. With a simulated
provider, the label and the name differ, so Kueue would replace healthy nodes.

Source: kueue v0.19.2 pkg/controller/tas/node_controller.go, pkg/features/kube_features.go
"""
PROGRAM = "kueue"
"""The name of the program and of its process."""
_UNMANAGED = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", NAMESPACE]}
_MANAGED_NAMESPACES = {"matchExpressions": [_UNMANAGED]}
"""Selector of the namespaces whose workloads Kueue manages.

Source: kueue v0.19.2 config/components/webhook/kustomization.yaml
"""
GATEKEEPER_NAMESPACE = "gatekeeper-system"
GATEKEEPER_SERVICE = "gatekeeper-webhook-service"
POD = "gatekeeper"
SERVICE_ACCOUNT_SECONDS = 60
"""Maximum wait until the controller manager creates the default ServiceAccount of a namespace."""
SUBRESOURCES = {"pods": ("ephemeralcontainers", "exec", "attach")}
"""Subresources by resource, as in the webhook configuration of Gatekeeper's chart."""


def prepare_webhooks(site: Site, client: Client, port: int) -> None:
    """Creates Kueue's webhook configurations for a port of this machine. Kueue itself adds the CA certificate."""
    _create_service(client, SERVICE, NAMESPACE)
    client.create(new_object("v1", "Secret", SECRET, NAMESPACE))
    for configuration in _webhooks(site, port):
        client.create(configuration)
    convert = {"name": SERVICE, "namespace": NAMESPACE, "path": "/convert", "port": port}
    webhook = {"clientConfig": {"service": convert}, "conversionReviewVersions": ["v1"]}
    conversion = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
    for plural in CONVERTED_RESOURCES:
        client.patch_object(new_object(*DEFINITION, f"{plural}.{GROUP}"), conversion)


def _create_service(client: Client, name: str, namespace: str) -> None:
    """Creates a namespace, and a Service of type ExternalName that leads to localhost.

    The API server connects to localhost, but still requires a certificate with the name of the Service.
    """
    client.apply(new_object("v1", "Namespace", namespace))
    service = {"type": "ExternalName", "externalName": "localhost"}
    client.apply(new_object("v1", "Service", name, namespace, spec=service))


def start_kueue(site: Site, emitted: Mapping[str, Any], port: int) -> Process:
    """Starts Kueue with the configuration that gpuc emitted. Addresses and folders are those of this machine.

    Kueue has the user name of its ServiceAccount, because a policy decides by the user name who may start a pod with a
    scheduling gate.
    """
    health, file = site.port(), site.folder / "kueue.json"
    configuration = local_configuration(emitted, LOOPBACK, port, health, site.subfolder("kueue-certificates"))
    file.write_text(json.dumps(configuration))
    environment = {"KUBECONFIG": str(site.kubeconfig_of("kueue", USER))}
    return site.run("kueue", [f"--config={file}"], f"http://{LOOPBACK}:{health}/readyz", environment)


def mount_certificate(site: Site, client: Client, process: Process) -> None:
    """Copies Kueue's certificate from its Secret to a folder, where Kueue reads it, as a kubelet does.

    Raises:
        ProgramError: if Kueue creates no certificate in time.
    """

    def data() -> dict[str, str]:
        process.require_alive()
        return client.get("v1", "Secret", SECRET, NAMESPACE).get("data") or {}

    if not (files := poll(data, CERTIFICATE_SECONDS)):
        raise ProgramError(f"Kueue created no certificate in {CERTIFICATE_SECONDS} s:\n{process.tail()}")
    for name, content in files.items():
        (site.subfolder("kueue-certificates") / name).write_bytes(base64.b64decode(content))


def without_replacement(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Returns Kueue's configuration with node replacement off, because Kueue would replace healthy simulated nodes."""
    gates = {**configuration.get("featureGates", {}), **dict.fromkeys(NODE_REPLACEMENT, False)}
    return {**configuration, "featureGates": gates}


def local_configuration(
    installed: Mapping[str, Any], host: str, port: int, health: int, certificates: Path
) -> dict[str, Any]:
    """Returns the configuration of Kueue from a cluster, but with the addresses and folders of this machine.

    The webhooks listen on `host` and `port` with a certificate in `certificates`. `health` is the port of health
    checks.
    """
    return {
        **installed,
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
        "metrics": {**installed.get("metrics", {}), "bindAddress": "0"},
        "webhook": {"host": host, "port": port, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        # Kueue's visibility server writes to a folder at the root of the file system.
        "featureGates": {**installed.get("featureGates", {}), "VisibilityOnDemand": False},
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


def start_gatekeeper(site: Site, port: int) -> Process:
    """Starts Gatekeeper without mutation. The webhook listens on a port of this machine."""
    health, certificates = site.port(), site.subfolder("gatekeeper-certificates")
    hosts = (f"{GATEKEEPER_SERVICE}.{GATEKEEPER_NAMESPACE}.svc", "localhost")
    certificate, key = site.authority.issue("gatekeeper", GATEKEEPER_SERVICE, hosts=hosts)
    certificate.rename(certificates / "tls.crt")
    key.rename(certificates / "tls.key")
    cache, metrics = site.subfolder("gatekeeper-cache"), site.port()
    arguments = flags("gatekeeper", certificates=certificates, port=port, cache=cache, health=health, metrics=metrics)
    environment = {"KUBECONFIG": str(site.kubeconfig), "POD_NAMESPACE": GATEKEEPER_NAMESPACE, "POD_NAME": POD}
    return site.run("gatekeeper", arguments, f"http://{LOOPBACK}:{health}/readyz", environment)


def prepare_webhook(site: Site, client: Client, settings: Settings, port: int) -> None:
    """Creates the Gatekeeper objects that the chart would create, such as the webhook configuration.

    The webhook receives only the kinds that policies check, and Gatekeeper's own kinds. The chart registers the webhook
    for all kinds. On two cores, these further calls would take a third of the API server's CPU time, and change no
    result.
    """
    _create_service(client, GATEKEEPER_SERVICE, GATEKEEPER_NAMESPACE)
    if settings.service_accounts:
        account = ("v1", "ServiceAccount", "default")
        client.wait_for(*account, lambda _: True, SERVICE_ACCOUNT_SECONDS, GATEKEEPER_NAMESPACE)
    pod, configuration = load_all_yaml(Path(__file__).with_name("gatekeeper.yaml").read_text(encoding="utf-8"))
    (webhook,) = configuration["webhooks"]
    webhook["clientConfig"]["service"]["port"] = port
    webhook["clientConfig"]["caBundle"] = base64.b64encode(site.authority.file.read_bytes()).decode()
    own = webhook["rules"]
    webhook["rules"] = []
    for group, resource in settings.policy_resources:
        resources = [resource, *(f"{resource}/{name}" for name in SUBRESOURCES.get(resource, ()))]
        webhook["rules"].append({**own[0], "apiGroups": [group], "resources": resources})
    webhook["rules"] += own
    client.create(pod)
    client.create(configuration)
