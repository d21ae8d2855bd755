"""Controllers with webhooks, as programs on the control plane of a rehearsal."""

import base64
import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuc.kubernetes.controllers import user
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.process import LOOPBACK, Process, http_probe
from gpuc_rehearsal.programs import Programs


@dataclass(frozen=True)
class LocalController:
    """A controller of upstream, and how it is started."""

    name: str
    """The name of the program, and the start of the names of its data."""
    configuration: str
    """The apiVersion of its configuration file."""
    namespace: str
    pod_label: str
    """The label of the pods that its webhooks receive."""
    user: str

    @property
    def _service(self) -> str:
        return f"{self.name}-webhook-service"

    def crds(self, programs: Programs) -> tuple[bytes, ...]:
        """Returns the CustomResourceDefinitions. The controller ends at its start if a definition is missing."""
        return crds_of(self.name, programs)

    def start(self, site: Site, client: Client, programs: Programs) -> Process:
        """Starts the controller with the user name of its ServiceAccount, and creates its webhook configurations.

        A Service of type ExternalName leads to localhost. The API server connects to localhost, but still requires a
        certificate with the name of the Service.
        """
        port, health = site.port(), site.port()
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        metadata = {"name": self._service, "namespace": self.namespace}
        service = {"type": "ExternalName", "externalName": "localhost"}
        client.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
        file = site.folder / f"{self.name}.json"
        file.write_text(json.dumps(self._configuration(port, health, self._certificates(site))))
        environment = {"KUBECONFIG": str(site.kubeconfig_of(self.name, self.user))}
        is_healthy = http_probe(f"http://{LOOPBACK}:{health}/readyz")
        # The controller reports readiness before its webhooks listen.
        process = site.run(
            self.name,
            [f"--config={file}"],
            lambda: is_healthy() and _listens(port),
            environment,
            programs.path(self.name),
        )
        for configuration in self._webhooks(site, programs, port):
            client.create(configuration)
        return process

    def _configuration(self, port: int, health: int, certificates: Path) -> Object:
        return {
            "apiVersion": self.configuration,
            "kind": "Configuration",
            "leaderElection": {"leaderElect": False},
            "internalCertManagement": {"enable": False},
            "webhook": {"host": LOOPBACK, "port": port, "certDir": str(certificates)},
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
            "metrics": {"bindAddress": "0"},
        }

    def _certificates(self, site: Site) -> Path:
        """Issues the certificate of the webhooks, and returns the folder with the files that the controller reads."""
        folder = site.subfolder(f"{self.name}-certificates")
        hosts = (f"{self._service}.{self.namespace}.svc", "localhost")
        certificate, key = site.authority.issue(self.name, self._service, hosts=hosts)
        certificate.rename(folder / "tls.crt")
        key.rename(folder / "tls.key")
        return folder

    def _webhooks(self, site: Site, programs: Programs, port: int) -> list[Object]:
        """Returns the webhook configurations of the release. The webhooks of pods receive only pods with the label.

        Source of the object selectors: kubernetes-sigs/lws v0.9.0 config/webhook/mutating-patch.yaml;
        kubernetes-sigs/jobset v0.12.0 config/components/webhook/patches
        """
        from ruamel.yaml import YAML

        authority = base64.b64encode(site.authority.file.read_bytes()).decode()
        text = programs.data(f"{self.name}-webhooks.yaml")
        configurations: list[dict[str, Any]] = list(YAML(typ="safe").load_all(text))
        for configuration in configurations:
            configuration["metadata"] = {"name": f"{self.name}-{configuration['metadata']['name']}"}
            for webhook in configuration["webhooks"]:
                webhook["clientConfig"]["caBundle"] = authority
                service = {"name": self._service, "namespace": self.namespace, "port": port}
                webhook["clientConfig"]["service"] |= service
                if any("pods" in rule["resources"] for rule in webhook["rules"]):
                    selector = {"matchExpressions": [{"key": self.pod_label, "operator": "Exists"}]}
                    webhook["objectSelector"] = selector
        return configurations


def crds_of(name: str, programs: Programs) -> tuple[bytes, ...]:
    """Returns the CustomResourceDefinitions of a controller. The names of their files are those of group and kind."""
    return tuple(path.read_bytes() for path in sorted(programs.data(f"{name}-crds").glob("*_*.yaml")))


def start_kuberay(site: Site, programs: Programs) -> Process:
    """Starts the operator of KubeRay, which needs no webhooks, with the user name of its ServiceAccount."""
    health = site.port()
    arguments = [
        "--enable-leader-election=false",
        "--reconcile-concurrency=8",
        "--metrics-addr=0",
        f"--health-probe-bind-address={LOOPBACK}:{health}",
    ]
    probe = http_probe(f"http://{LOOPBACK}:{health}/readyz")
    environment = {"KUBECONFIG": str(site.kubeconfig_of("kuberay", user("kuberay-operator/kuberay-operator")))}
    return site.run("kuberay", arguments, probe, environment, programs.path("kuberay"))


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1):
            return True
    except OSError:
        return False
