"""Controllers with webhooks, as programs on the control plane of a rehearsal."""

import base64
import json
import re
import signal
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuc.kubernetes.controllers import JOBSET, user
from gpuc.manifest.manifest import Body
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.process import LOOPBACK, Process, http_probe
from gpuc_rehearsal.programs import MissingProgramsError, Programs, find_controller, find_programs
from tests.conformance.check_result import CheckResult, report

CERTIFICATES = "k8s-webhook-server/serving-certs"
"""The folder of the certificates in the folder of temporary files."""
NO_ACCOUNTS: Mapping[str, str] = {}


@dataclass(frozen=True)
class LocalController:
    """A controller of upstream, and how it is started."""

    name: str
    """The name of the program, and the start of the names of its data."""
    configuration: str
    """The apiVersion of its configuration file."""
    namespace: str
    pod_label: str
    """The label of the pods that its webhooks receive; empty if they receive none."""
    framework: str
    """The framework of Kueue whose objects it serves."""
    account: str
    """Its ServiceAccount in the manifests of upstream, as namespace/name."""
    certificates: str = "internalCertManagement"
    """The key of its configuration that switches off the certificates that it writes itself."""
    has_folder: bool = False
    """Whether its configuration names the folder of the certificates, which is not that of temporary files then.

    Source: kubernetes-sigs/lws v0.9.0 api/config/v1alpha1/defaults.go (DefaultWebhookCertDir)
    """

    @property
    def _service(self) -> str:
        return f"{self.name}-webhook-service"

    def crds(self, programs: Programs) -> tuple[bytes, ...]:
        """Returns the CustomResourceDefinitions. The controller ends at its start if a definition is missing."""
        return crds_of(self.name, programs)

    def start(
        self, site: Site, client: Client, programs: Programs, accounts: Mapping[str, str] = NO_ACCOUNTS
    ) -> Process:
        """Starts the controller with the user name of its ServiceAccount, and creates its webhook configurations.

        accounts: the ServiceAccounts of frameworks that are not those of upstream's manifests.

        A Service of type ExternalName leads to localhost. The API server connects to localhost, but still requires a
        certificate with the name of the Service.
        """
        port, health = site.port(), site.port()
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        metadata = {"name": self._service, "namespace": self.namespace}
        service = {"type": "ExternalName", "externalName": "localhost"}
        client.apply({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service})
        file = site.folder / f"{self.name}.json"
        temporary = self._temporary(site)
        file.write_text(json.dumps(self._configuration(port, health, temporary / CERTIFICATES)))
        environment = {
            "KUBECONFIG": str(site.kubeconfig_of(self.name, user(accounts.get(self.framework, self.account)))),
            "TMPDIR": str(temporary),
        }
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
        webhook: Object = {"host": LOOPBACK, "port": port}
        if self.has_folder:
            webhook["certDir"] = str(certificates)
        return {
            "apiVersion": self.configuration,
            "kind": "Configuration",
            "leaderElection": {"leaderElect": False},
            self.certificates: {"enable": False},
            "webhook": webhook,
            "health": {"healthProbeBindAddress": f"{LOOPBACK}:{health}"},
            "metrics": {"bindAddress": "0"},
        }

    def _temporary(self, site: Site) -> Path:
        """Issues the certificate of the webhooks, and returns the folder of temporary files that has it.

        Source: kubernetes-sigs/controller-runtime v0.24.1 pkg/webhook/server.go (os.TempDir)
        """
        temporary = site.subfolder(f"{self.name}-temporary")
        folder = temporary / CERTIFICATES
        folder.mkdir(parents=True)
        hosts = (f"{self._service}.{self.namespace}.svc", "localhost")
        certificate, key = site.authority.issue(self.name, self._service, hosts=hosts)
        certificate.rename(folder / "tls.crt")
        key.rename(folder / "tls.key")
        return temporary

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
                if self.pod_label and any("pods" in rule["resources"] for rule in webhook["rules"]):
                    selector = {"matchExpressions": [{"key": self.pod_label, "operator": "Exists"}]}
                    webhook["objectSelector"] = selector
        return configurations


CONTROLLERS = {
    "jobset": LocalController(
        "jobset", "config.jobset.x-k8s.io/v1alpha1", "jobset-system", "jobset.sigs.k8s.io/jobset-name",
        JOBSET, "jobset-system/jobset-controller-manager",
    ),
    "lws": LocalController(
        "lws", "config.lws.x-k8s.io/v1alpha1", "lws-system", "leaderworkerset.sigs.k8s.io/name",
        "leaderworkerset.x-k8s.io/leaderworkerset", "lws-system/lws-controller-manager", has_folder=True,
    ),
    "trainer": LocalController(
        "trainer", "config.trainer.kubeflow.org/v1alpha1", "kubeflow-system", "",
        "trainer.kubeflow.org/trainjob", "kubeflow-system/kubeflow-trainer-controller-manager", "certManagement",
    ),
}  # fmt: skip
"""The controllers with webhooks, by component and option of `gpuc tools`.

Source: the configuration types of the versions in rehearsal/gpuc_rehearsal/tools/programs
"""


def with_controller(name: str, of: str, checks: Callable[[Programs], Iterable[CheckResult]]) -> int:
    """Runs checks with a controller; returns 1 if one fails. If a program is not built, one line says what did not run.

    Args:
        name: the controller, as an option of `gpuc tools`.
        of: what the controller needs the programs for, for example "LeaderWorkerSets".
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        find_programs()
        controller = find_controller(name, of)
    except MissingProgramsError as error:
        print(f"not run: {of} with the real controller: {error}")
        return 0
    return report(checks(controller))


def built_controllers(names: Iterable[str], progress: Callable[[str], None]) -> dict[str, Programs]:
    """Returns the programs of the components that are built; a message names each of the others."""
    found = {}
    for name in names:
        try:
            found[name] = find_controller(name, f"objects of {name}")
        except MissingProgramsError as error:
            progress(f"{name} does not run: {error}")
    return found


def start_controllers(
    site: Site, client: Client, programs: Mapping[str, Programs], accounts: Mapping[str, str]
) -> list[Process]:
    """Starts the controllers of components, by component; returns their processes, which may not be ready.

    accounts: as for `LocalController.start`.
    """
    return [
        start_kuberay(site, found) if name == "kuberay" else CONTROLLERS[name].start(site, client, found, accounts)
        for name, found in programs.items()
    ]


def with_definitions(given: Iterable[bytes | Body], programs: Mapping[str, Programs]) -> tuple[bytes | Body, ...]:
    """Returns CustomResourceDefinitions with those of the controllers in place of others with the same name."""
    own = [definition for name, found in programs.items() for definition in crds_of(name, found)]
    names = set(map(_name, own))
    return (*(definition for definition in given if _name(definition) not in names), *own)


def _name(definition: bytes | Body) -> str:
    if not isinstance(definition, bytes):
        return str(definition["metadata"]["name"])
    found = re.search(rb"^  name: (\S+)$", definition, re.MULTILINE)
    return found[1].decode() if found else ""


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
