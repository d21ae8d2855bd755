"""Starts Argo CD and the hosts that it needs. Argo CD syncs the cluster in which it runs, or other clusters."""

import secrets
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from gpuc.cluster.application import Application, Destination, applications
from gpuc.diagnostics.usage import UsageError
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.argocd.charts import Charts, Files, address
from gpuc_rehearsal.argocd.cluster import ArgoCluster, cluster_secret, require_service_addresses, service_range
from gpuc_rehearsal.argocd.repository import documents, first_git_source, fleet_repository
from gpuc_rehearsal.argocd.servers import start_hosts, start_proxy
from gpuc_rehearsal.argocd.timeline import APPLICATION
from gpuc_rehearsal.client import Client, new_object
from gpuc_rehearsal.plane import READY_SECONDS, ControlPlane
from gpuc_rehearsal.plane.site import Settings, Site, flags
from gpuc_rehearsal.process import LOOPBACK, Started
from gpuc_rehearsal.programs import ArgoPrograms, Programs

RESYNC_SECONDS = 20
"""Interval in which the controller compares Applications with Git. The controller does not notice when
CustomResourceDefinitions become established. So with the default interval of 120 to 180 s, the first sync would wait
that long after every chart with CustomResourceDefinitions."""
RENDER_SECONDS = 180
"""Timeout of requests to the repo server, which renders charts slowly on two busy cores."""
REFRESH = "argocd.argoproj.io/refresh"
HUB = 99
"""The number of Argo CD's control plane if Argo CD runs in a separate cluster."""


class Redis(NamedTuple):
    """A running Redis server, which Argo CD uses as a cache."""

    address: str
    """host:port."""
    password: str


def start_redis(site: Site, programs: ArgoPrograms) -> Redis:
    """Starts Redis with a password, without storage on disk, and waits until Redis is ready."""
    port, password = site.port(), secrets.token_hex(16)
    configuration = site.subfolder("redis") / "redis.conf"
    configuration.touch(mode=0o600)
    settings = f"bind {LOOPBACK}\nport {port}\nrequirepass {password}\ndir {configuration.parent}\n"
    configuration.write_text(f'{settings}save ""\nappendonly no\n', encoding="ascii")
    process = site.run("redis", [str(configuration)], partial(_listens, port), program=programs.redis)
    process.wait_ready(READY_SECONDS)
    return Redis(f"{LOOPBACK}:{port}", password)


def start_repo_server(site: Site, programs: ArgoPrograms, redis: Redis, proxy: str, hosts: Iterable[str]) -> str:
    """Starts Argo CD's repo server, waits until it is ready, and returns its address, "HOST:PORT".

    The repo server connects to `hosts`, the Git and chart servers, through the proxy, and trusts their certificates.
    """
    port, metrics = site.port(), site.port()
    folders = {name: site.subfolder(f"repo-server/{path}") for name, path in _FOLDERS.items()}
    for host in hosts:  # like the mounted ConfigMap argocd-tls-certs-cm
        (folders["ARGOCD_TLS_DATA_PATH"] / host).write_bytes(site.authority.file.read_bytes())
    # This script accepts all commits, because the commits of a rehearsal are not signed.
    script = site.subfolder("repo-server/bin") / "git-verify-wrapper.sh"
    script.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    script.chmod(0o755)
    environment = {
        **{name: str(folder) for name, folder in folders.items()},
        "PATH": f"{script.parent}:{programs.folder / 'bin'}:{programs.git.parent}:/usr/bin:/bin",
        "ARGOCD_ASK_PASS_SOCK": str(site.subfolder("repo-server") / "ask-pass.sock"),
        "ARGOCD_GPG_ENABLED": "false",
        "SSL_CERT_FILE": str(site.authority.file),
        "GIT_SSL_CAINFO": str(site.authority.file),
        "HTTPS_PROXY": proxy,
        "NO_PROXY": f"{LOOPBACK},localhost",
    }
    arguments = flags("argocd-repo-server", port=port, metrics=metrics, redis=redis)
    ready = f"http://{LOOPBACK}:{metrics}/healthz?full=true"
    _start(site, programs, "argocd-repo-server", arguments, ready, redis, environment)
    return f"{LOOPBACK}:{port}"


def start_controller(site: Site, programs: ArgoPrograms, redis: Redis, repo_server: str, namespace: str) -> None:
    """Starts the application controller of Argo CD, and waits until the controller is ready.

    The controller reads Applications from the control plane of `site`, in the namespace `namespace`. `repo_server` is
    the address of the repo server.
    """
    name, metrics, folder = "argocd-application-controller", site.port(), str(site.subfolder("controller"))
    arguments = flags(
        name, namespace=namespace, repo_server=repo_server, redis=redis, metrics=metrics,
        render_seconds=RENDER_SECONDS, resync_seconds=RESYNC_SECONDS,
    )  # fmt: skip
    environment = {"ARGOCD_FAKE_IN_CLUSTER": "true", "HOME": folder, "ARGOCD_TLS_DATA_PATH": folder}
    _start(site, programs, name, arguments, f"http://{LOOPBACK}:{metrics}/healthz", redis, environment)


_FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "ARGOCD_TLS_DATA_PATH": "tls",
    "ARGOCD_SSH_DATA_PATH": "ssh",
    "ARGOCD_GNUPGHOME": "gnupg",
    "ARGOCD_GPG_DATA_PATH": "gpg",
    "ARGOCD_PLUGINSOCKFILEPATH": "plugins",
    "HELM_CACHE_HOME": "helm/cache",
    "HELM_CONFIG_HOME": "helm/config",
    "HELM_DATA_HOME": "helm/data",
}
"""Folders of the repo server by environment variable."""


def _start(
    site: Site, programs: ArgoPrograms, name: str, arguments: list[str], ready: str, redis: Redis, own: dict[str, str]
) -> None:
    common = {"ARGOCD_BINARY_NAME": name, "REDIS_PASSWORD": redis.password, "KUBECONFIG": str(site.kubeconfig)}
    site.run(name, arguments, ready, common | own, programs.path("argocd")).wait_ready(READY_SECONDS)


def _listens(port: int) -> bool:
    """Returns whether a program listens on a port of loopback."""
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False


class ArgoCD(Started):
    """A context manager that runs Argo CD, the clusters that Argo CD syncs, and the Git repository of the fleet."""

    def __init__(
        self,
        programs: Programs,
        argo: ArgoPrograms,
        fleet: Path,
        specs: Sequence[CompiledSpec],
        charts: Path | None = None,
        crds: Path | None = None,
        progress: Callable[[str], None] = lambda step: None,
    ) -> None:
        """Reads the charts and the destinations of the specs.

        If the destination of a spec is the cluster of Argo CD, Argo CD runs in the control plane of this cluster.
        Otherwise Argo CD runs in a separate control plane.

        Args:
            fleet: the folder that contains specs/.
            specs: several specs only if Argo CD runs in none of their clusters.
            charts, crds: folders with additional charts and with upstream CustomResourceDefinitions.

        Raises:
            UsageError: if the server of a destination has a path, if a .tgz file is not a chart, or if the current
                user may not listen on port 443 of loopback.
        """
        self._programs, self.argo, self._fleet, self._crds = programs, argo, fleet, crds
        self._specs = {spec.cluster.name: spec for spec in specs}
        self._progress = progress
        self.charts = Charts(filter(None, (argo.data("charts"), charts)))
        """The charts that Argo CD can render."""
        self._files: dict[str, Files] = {}
        self._destinations = {name: workload_destination(spec.synced) for name, spec in self._specs.items()}
        for name, destination in self._destinations.items():
            if urlsplit(destination.server).path.strip("/"):
                where = f"delivery.destination.server: {destination.server}"
                raise UsageError(f"cluster {name}: --argocd does not support a path in {where}")
        require_service_addresses()
        self._is_hub = not next(iter(self._destinations.values())).is_own
        self.argo_clusters: dict[str, ArgoCluster] = {}
        self.clusters: dict[str, Client] = {}
        """Clients of the API servers, by name of the cluster."""

    def start(self, stack: ExitStack) -> None:
        """Starts the control planes, the Git server and Argo CD. Argo CD syncs nothing before a call of `bootstrap`.

        Raises ProgramError, RepositoryError or ApiError if a program, the repository or an API server fails.
        """
        self._start_planes(stack)
        self.repository = fleet_repository(
            self.argo.git,
            self._argo_plane.site.subfolder("fleet"),
            self._fleet,
            first_git_source(self._applications()),
            next(iter(self._specs.values())).cluster.spec.delivery.path,
            lambda source: self.charts.find(source.chart, source.revision) is not None,
        )
        self.repository.commit("Initial state of the fleet")
        self._start_argo(stack)

    @property
    def not_rendered(self) -> dict[str, str]:
        """The Applications that Argo CD does not sync, by name, with the reason: a chart is missing."""
        return self.repository.not_rendered

    @property
    def kubeconfig(self) -> Path:
        """The path of a kubeconfig for the control plane in which Argo CD runs."""
        return self._argo_plane.site.kubeconfig

    def bootstrap(self, spec: CompiledSpec) -> None:
        """Does the manual steps of clusters/CLUSTER/README.md, with which an administrator starts the first sync.

        The steps create nodes and namespaces, add health checks, and apply the AppProject and the root Application.
        Raises ApiError if the API server refuses an object.
        """
        name = spec.cluster.name
        self.argo_clusters[name].prepare(spec, self.not_rendered)
        folder = self.repository.root / "clusters" / name
        for values in documents(folder / "argocd-health.yaml"):
            data = {key: str(value) for key, value in values["configs"]["cm"].items()}
            self.client.patch_object(new_object("v1", "ConfigMap", "argocd-cm", self.namespace), {"data": data})
        for file in (self.repository.root / "out" / name / "apps" / "project.yaml", folder / "root.yaml"):
            for document in documents(file):
                self.client.apply(document, manager="kubectl")

    def refresh(self, *names: str) -> None:
        """Makes Argo CD compare the named Applications with Git at once, as a Git webhook does after a push."""
        for name in names:
            changes = {"metadata": {"annotations": {REFRESH: "normal"}}}
            self.client.patch_object(new_object(*APPLICATION, name, self.namespace), changes)

    def serve_charts(self) -> None:
        """Makes the charts available at the URLs of the chart repositories that the Applications name."""
        sources = [application.chart for application in self._applications() if application.chart]
        self._files.update(self.charts.files(sources))

    def require_alive(self) -> None:
        """Raises a ProgramError if a program of Argo CD or of a cluster has ended."""
        self._argo_plane.require_alive()
        for argo_cluster in self.argo_clusters.values():
            argo_cluster.require_alive()

    def memory_mib(self) -> int:
        """Returns the resident memory in MiB of all programs together, those of the clusters included."""
        own = self._argo_plane.memory_mib() if self._is_hub else 0
        return own + sum(argo_cluster.memory_mib() for argo_cluster in self.argo_clusters.values())

    def _start_planes(self, stack: ExitStack) -> None:
        crds = [file.read_bytes() for file in sorted(self.argo.data("argocd-crds").glob("*-crd.yaml"))]
        if self._is_hub:
            settings = Settings(crds, {}, (), {}, (), (), from_charts=True, service_range=service_range(HUB))
            self._argo_plane = stack.enter_context(ControlPlane(self._programs, settings, self._progress))
        for number, (name, spec) in enumerate(self._specs.items()):
            progress = partial(lambda name, step: self._progress(f"{name}: {step}"), name)
            argo_cluster = ArgoCluster(self._programs, spec, number, self._crds, () if self._is_hub else crds, progress)
            self.argo_clusters[name] = stack.enter_context(argo_cluster)
            self.clusters[name] = argo_cluster.client
            if not self._is_hub:
                self._argo_plane = argo_cluster.plane
        self.client: Client = self._argo_plane.client
        self.namespace = self._applications()[0].manifest.namespace
        """The namespace of Argo CD."""

    def _start_argo(self, stack: ExitStack) -> None:
        site = self._argo_plane.site
        self.serve_charts()
        git_host, _ = address(first_git_source(self._applications()).url)
        hosts = tuple(sorted({*self._files, git_host}))
        port, https_port, files = site.port(), site.port(), site.authority.issue("proxy", "gpuc-proxy", hosts=hosts)
        repositories = {git_host: site.folder / "fleet" / "git" / git_host}
        stack.callback(start_hosts(https_port, files, self._files, self.argo.git, repositories))
        clusters = self.argo_clusters.items() if self._is_hub else ()
        ports = {urlsplit(self._server(name)).hostname or "": row.plane.site.api_server_port for name, row in clusters}
        stack.callback(start_proxy(port, dict.fromkeys(hosts, https_port) | ports))
        proxy = f"http://{LOOPBACK}:{port}"
        self.client.apply(new_object("v1", "Namespace", self.namespace))
        for file in sorted(self.argo.data("argocd-config").glob("argocd-*.yaml")):
            for document in documents(file):
                document["metadata"]["namespace"] = self.namespace
                self.client.apply(document)
        for name, argo_cluster in clusters:
            destination = Destination(self._server(name), self._destinations[name].name)
            cluster_site = argo_cluster.plane.site
            credentials = (cluster_site.authority.file, *cluster_site.admin)
            self.client.apply(cluster_secret(self.namespace, name, destination, proxy, credentials))
        redis = start_redis(site, self.argo)
        repo_server = start_repo_server(site, self.argo, redis, proxy, hosts)
        start_controller(site, self.argo, redis, repo_server, self.namespace)

    def _applications(self) -> list[Application]:
        """Returns the Applications of all clusters, without the root Applications."""
        return [application for spec in self._specs.values() for application in applications(spec.synced)]

    def _server(self, name: str) -> str:
        """Returns the server of a cluster, or a generated address if the destination has only a name."""
        return self._destinations[name].server or f"https://{name}.clusters.invalid"


def workload_destination(synced: Sequence[Manifest]) -> Destination:
    """Returns the cluster and namespace to which the Applications of a spec deploy, from the first Application."""
    return applications(synced)[0].destination
