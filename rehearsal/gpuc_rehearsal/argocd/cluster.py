"""A simulated cluster for Argo CD: a control plane, a simulated kubelet and controllers, and the first objects."""

import base64
import json
import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from gpuc.cluster.application import Destination, applications
from gpuc.diagnostics.usage import UsageError
from gpuc.kubernetes.node_pool import HOSTNAME, ZONE
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.argocd.kubelet import Kubelet
from gpuc_rehearsal.argocd.pods import starters
from gpuc_rehearsal.argocd.servers import BackgroundLoop
from gpuc_rehearsal.argocd.simulated_controllers import SimulatedControllers
from gpuc_rehearsal.client import DEFINITION, Client, Object, new_object
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.plane import ControlPlane
from gpuc_rehearsal.plane.kwok import FAKE_NODE
from gpuc_rehearsal.plane.site import Settings
from gpuc_rehearsal.process import Started
from gpuc_rehearsal.programs import Programs
from gpuc_rehearsal.substitute import settings

SYSTEM_NODES = 3
_CAPACITY = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "500Gi", "pods": "250"}
_TLS_SERVER_NAME = "localhost"
"""A host name that the certificate of every simulated API server contains."""
SECRET_TYPE = "argocd.argoproj.io/secret-type"
_RUNS = 64
"""The number of concurrent runs on a machine that can have separate address ranges."""


def system_nodes(cluster: Cluster) -> Iterator[Object]:
    """Yields simulated nodes for the controllers, with the taint that the README of the cluster requires."""
    key, _, value = FAKE_NODE.partition("=")
    zones, region = cluster.substrate.zones(cluster.spec), cluster.substrate.region(cluster.spec)
    spec = {"taints": [{"key": SYSTEM_TAINT, "value": "true", "effect": "NoSchedule"}]}
    status = {"capacity": _CAPACITY, "allocatable": _CAPACITY}
    for number in range(SYSTEM_NODES):
        name = f"system-{number}"
        labels = {HOSTNAME: name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
        if zones:
            labels |= {ZONE: zones[number % len(zones)], "topology.kubernetes.io/region": region}
        metadata = {"labels": labels, "annotations": {key: value}}
        yield new_object("v1", "Node", name, metadata=metadata, spec=spec, status=status)


def required_namespaces(cluster: Cluster, synced: Iterable[Manifest]) -> list[Object]:
    """Returns namespaces that no Application creates, so a rehearsal creates them before the first sync.

    These are namespaces in which Applications install objects, and namespaces from which tenants accept connections.
    """
    found = applications(synced)
    created = {name for row in found for name in (row.created_namespace, row.manifest.namespace)}
    callers = {caller for tenant in cluster.tenants for caller in tenant.caller_namespaces}
    names = {row.destination.namespace for row in found} - {"default", "kube-system", *created} | callers
    return [new_object("v1", "Namespace", name) for name in sorted(names)]


def cluster_secret(
    namespace: str, name: str, destination: Destination, proxy: str, files: tuple[Path, Path, Path]
) -> Object:
    """Returns the Secret with which Argo CD connects to a cluster through a proxy.

    files: the CA certificate of the API server, the client certificate and its key, in PEM.
    """
    encoded = (base64.b64encode(file.read_bytes()).decode() for file in files)
    tls = dict(zip(("caData", "certData", "keyData"), encoded, strict=True))
    config = {"proxyUrl": proxy, "tlsClientConfig": {**tls, "insecure": False, "serverName": _TLS_SERVER_NAME}}
    data = {"name": destination.name or name, "server": destination.server, "config": json.dumps(config)}
    metadata = {"labels": {SECRET_TYPE: "cluster"}}
    return new_object("v1", "Secret", f"cluster-{name}", namespace, metadata=metadata, type="Opaque", stringData=data)


def service_range(number: int) -> str:
    """Returns the addresses for the Services of a cluster, by the number of the cluster: "127.64.0.0/24" for 0.

    The range is on loopback, so that the API server reaches webhooks at the addresses of their Services.
    """
    return f"127.{64 + os.getpid() % _RUNS}.{number}.0/24"


def require_service_addresses() -> None:
    """Raises a UsageError if the current user may not start servers on port 443 of the addresses of Services."""
    address = service_range(0).removesuffix("0/24") + "1"
    try:
        with socket.create_server((address, 443)):
            return
    except PermissionError:
        remedy = "run gpuc as root, or run `sysctl net.ipv4.ip_unprivileged_port_start=443`"
    except OSError as error:
        loopback = "on Linux, all addresses of 127.0.0.0/8 are on loopback"
        remedy = f"the operating system reports {error.strerror}; {loopback}"
    raise UsageError(f"--argocd needs to listen on {address}:443 for webhooks: {remedy}")


class ArgoCluster(Started):
    """A context manager that runs a simulated cluster. Argo CD installs the controllers of the cluster from charts."""

    def __init__(
        self,
        programs: Programs,
        spec: CompiledSpec,
        number: int,
        crds: Path | None,
        argo_crds: Sequence[bytes | Body],
        progress: Callable[[str], None],
    ) -> None:
        """Computes the settings of the control plane; nothing is started.

        Args:
            number: a number that no other cluster of the run has.
            crds: a folder with upstream CustomResourceDefinitions.
            argo_crds: Argo CD's CustomResourceDefinitions. Empty if Argo CD runs in a separate cluster.
        """
        upstream = definitions(programs, crds, spec.cluster.frameworks, outside_charts=True)
        charts = [(row.chart.chart, row.destination.namespace) for row in applications(spec.synced) if row.chart]
        self._charts = {namespace: chart for chart, namespace in charts if chart in starters()}
        self._settings: Settings = replace(
            settings(spec, upstream),
            crds=(*upstream.crds, *argo_crds),
            from_charts=True,
            service_range=service_range(number),
            ignored_namespaces=sorted(self._charts),
        )
        self._spec = spec
        self.plane = ControlPlane(programs, self._settings, progress)
        """The control plane of the cluster."""

    def start(self, stack: ExitStack) -> None:
        """Starts the control plane, kubelet and controllers. Raises ProgramError if a program does not start."""
        stack.enter_context(self.plane)
        self.client: Client = self.plane.client
        self.kubelet = Kubelet(self.plane.site, self.client, self._settings, self._charts)
        known = {definition["spec"]["group"] for definition in self.client.list_all(*DEFINITION)}
        known |= {group for release in self._spec.cluster.components.values() for group in release.groups}
        further = self._spec.cluster.spec.charts.values()
        namespaces = {name for chart in further for name in (chart.namespace, *chart.namespaces)}
        controllers = SimulatedControllers(self.client, self.plane.site.authority, known, namespaces, self._charts)
        stack.callback(controllers.stop)
        stack.callback(self.kubelet.stop)
        steps = {"kubelet of the controllers": self.kubelet.reconcile, "simulated controllers": controllers.reconcile}
        self._loops = [stack.enter_context(BackgroundLoop(f"the {name}", step)) for name, step in steps.items()]

    def prepare(self, spec: CompiledSpec, not_rendered: Collection[str]) -> None:
        """Creates what must exist before the first sync: nodes for controllers, and namespaces.

        The Applications in `not_rendered` need no namespaces, because Argo CD does not sync these Applications.
        """
        for node in system_nodes(spec.cluster):
            self.client.create(node)
        synced = [manifest for manifest in spec.synced if manifest.name not in not_rendered]
        for document in required_namespaces(spec.cluster, synced):
            self.client.apply(document)

    def require_alive(self) -> None:
        """Raises a ProgramError if a program, the kubelet or a simulated controller of the cluster has ended."""
        self.plane.require_alive()
        self.kubelet.require_alive()
        for loop in self._loops:
            loop.require_alive()

    def memory_mib(self) -> int:
        """Returns the resident memory in MiB of all programs of the cluster together."""
        return self.plane.memory_mib() + self.kubelet.memory_mib()
