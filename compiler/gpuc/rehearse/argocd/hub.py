"""Argo CD for one cluster that it runs in, or for several clusters beside its own."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from gpuc.diagnostics.usage import UsageError
from gpuc.manifest.manifest import Body, Manifest
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.argocd.applications import ChartSource, Destination, applications, chart_of, destination
from gpuc.rehearse.argocd.charts import Charts
from gpuc.rehearse.argocd.cluster import ArgoCluster, require_service_addresses, service_range
from gpuc.rehearse.argocd.hosts import Host, chart_hosts, git_host
from gpuc.rehearse.argocd.prerequisites import argo_definitions, cluster_secret, install_argo_cd, merged_health
from gpuc.rehearse.argocd.processes import start_controller, start_redis, start_repo_server
from gpuc.rehearse.argocd.programs import ArgoPrograms
from gpuc.rehearse.argocd.repository import FleetRepository, documents, first_git_source, fleet_repository
from gpuc.rehearse.argocd.server import Proxy
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.plane import READY_SECONDS, ControlPlane
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.programs import Programs
from gpuc.rehearse.started import Started

APPLICATION = ("argoproj.io/v1alpha1", "Application")
REFRESH = "argocd.argoproj.io/refresh"
HUB = 99
"""The number of Argo CD's own cluster, where it has one of its own."""


class ArgoCD(Started):
    """Argo CD, its clusters, and the fleet that it follows; a context manager."""

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
        """fleet is the folder that holds specs/; charts and crds are folders of the user's.

        One spec whose Applications apply to Argo CD's own cluster is rehearsed in one control plane; in any other case
        Argo CD has a control plane of its own.

        Raises:
            UsageError: when several specs mean Argo CD's own cluster, a server has a path, a .tgz file of charts is no
                chart, or this user may not listen on port 443 of loopback.
        """
        self._programs, self._argo, self._fleet, self._crds = programs, argo, fleet, crds
        self._specs = {spec.cluster.name: spec for spec in specs}
        self._progress = progress
        self.charts = Charts(filter(None, (argo.data("charts"), charts)))
        """What can be rendered."""
        self._destinations = {name: workload_destination(spec.synced) for name, spec in self._specs.items()}
        if len(specs) > 1 and any(found.is_own for found in self._destinations.values()):
            raise UsageError("every cluster of one Argo CD needs a server or a name of its own: delivery.destination")
        for found in self._destinations.values():
            if urlsplit(found.server).path.strip("/"):
                raise UsageError(f"--argocd reaches no API server below a path, such as {found.server}")
        require_service_addresses()
        self._is_hub = not next(iter(self._destinations.values())).is_own
        self._members: dict[str, ArgoCluster] = {}
        self.clusters: dict[str, Client] = {}
        """A client by name of the cluster."""
        self.seconds: dict[str, float] = {}
        """How long each part of the start took."""

    def start(self, stack: ExitStack) -> None:
        """Starts everything; nothing is synced before `bootstrap`.

        Raises:
            ProgramError: when a program does not start.
            RepositoryError: when the fleet's repository cannot be served.
            ApiError: when an API server refuses what Argo CD needs.
        """
        started = time.monotonic()
        self._start_planes(stack)
        self.seconds["control planes"] = time.monotonic() - started
        started = time.monotonic()
        self.repository = self._new_repository()
        self.repository.commit("The fleet as it is")
        self._start_argo(stack)
        self.seconds["Argo CD"] = time.monotonic() - started

    @property
    def not_rendered(self) -> dict[str, str]:
        """Reason by name of an Application of these clusters that is left out because its chart is missing."""
        left_out = self.repository.not_rendered
        return {entry.name: left_out[entry.name] for entry in self._entries() if entry.name in left_out}

    @property
    def kubeconfig(self) -> Path:
        """Credentials for the control plane that Argo CD runs in."""
        return self._own.kubeconfig

    @property
    def kubeconfigs(self) -> dict[str, Path]:
        """Credentials by name of the cluster."""
        return {name: member.plane.kubeconfig for name, member in self._members.items()}

    def bootstrap(self, spec: CompiledSpec) -> None:
        """Does what clusters/<name>/README.md asks for: prerequisites, health checks, AppProject, root Application.

        Raises:
            ApiError: when the API server refuses one of them.
        """
        name = spec.cluster.name
        self._members[name].prepare(spec, self.not_rendered)
        entry = self.repository.root / "clusters" / name
        for values in documents(entry / "argocd-health.yaml"):
            self._configure(merged_health(values))
        for file in (self.repository.root / "out" / name / "apps" / "project.yaml", entry / "root.yaml"):
            for document in documents(file):
                self.client.apply(document, manager="kubectl")

    def refresh(self, *names: str) -> None:
        """Asks for a comparison with what Git has now, as the webhook of a push does."""
        for name in names:
            changes = {"metadata": {"annotations": {REFRESH: "normal"}}}
            self.client.patch(*APPLICATION, name, changes, self.namespace)

    def offer(self, spec: CompiledSpec) -> None:
        """Lets the simulated provider have what a changed spec's pools ask for; call it before its commit."""
        self._members[spec.cluster.name].offer(spec)

    def repackage(self, chart: str, old: str, new: str) -> None:
        """Offers a chart once more under another version, for a commit that moves the version.

        Raises:
            ValueError: when there is no such chart.
        """
        found = self.charts.find(chart, old)
        if found is None:
            raise ValueError(f"there is no chart {chart} {old}")
        self.charts.repackage(self._argo.path("helm"), found, new, Path(tempfile.mkdtemp(dir=self._site.folder)))

    def require_alive(self) -> None:
        """Raises: ProgramError when something has ended."""
        self._own.require_alive()
        for member in self._members.values():
            member.require_alive()

    def memory_mib(self) -> dict[str, int]:
        """Memory that each program holds now; on a hub the names of other clusters' programs begin with the cluster."""
        found = self._own.memory_mib() if self._is_hub else {}
        for name, member in self._members.items():
            prefix = f"{name}/" if self._is_hub else ""
            found |= {f"{prefix}{program}": size for program, size in member.memory_mib().items()}
        return found

    def logs(self) -> dict[str, Path]:
        """The log file of each program, by the names of `memory_mib`."""
        found = self._own.logs() if self._is_hub else {}
        for name, member in self._members.items():
            prefix = f"{name}/" if self._is_hub else ""
            found |= {f"{prefix}{program}": log for program, log in member.logs().items()}
        return found

    def _start_planes(self, stack: ExitStack) -> None:
        own = argo_definitions(self._argo.data("argocd-crds"))
        if self._is_hub:
            settings = Settings(own, {}, (), {}, (), (), from_charts=True, service_range=service_range(HUB))
            self._own = stack.enter_context(ControlPlane(self._programs, settings, self._progress))
        for number, (name, spec) in enumerate(self._specs.items()):
            extra: list[bytes | Body] = [] if self._is_hub else [*own]
            member = ArgoCluster(self._programs, spec, number, self._crds, extra, self._said(name))
            self._members[name] = stack.enter_context(member)
            self.clusters[name] = member.client
        if not self._is_hub:
            self._own = next(iter(self._members.values())).plane
        self.client: Client = self._own.client
        self.namespace = self._entries()[0].namespace
        """The namespace of Argo CD."""

    def _new_repository(self) -> FleetRepository:
        specs = [entry.body["spec"] for entry in self._entries()]
        tree = next(iter(self._specs.values())).cluster.spec.delivery.path
        folder = self._site.subfolder("fleet")
        return fleet_repository(self._argo.git, folder, self._fleet, first_git_source(specs), tree, self._has_chart)

    def _start_argo(self, stack: ExitStack) -> None:
        site = self._site
        hosts = self._hosts()
        tunnels = {
            urlsplit(self._server(name)).hostname or "": member.plane.site.api_server_port
            for name, member in self._members.items()
            if self._is_hub
        }
        proxy = Proxy(site.port(), hosts, tunnels)
        stack.callback(proxy.start(*site.authority.issue("proxy", "gpuc-proxy", hosts=tuple(sorted(hosts)))))
        install_argo_cd(self.client, self._argo.data("argocd-config"), self.namespace)
        if self._is_hub:
            for name in self._members:
                self.client.apply(self._cluster_secret(name, proxy))
        redis = start_redis(site, self._argo)
        redis.process.wait_ready(READY_SECONDS)
        server, address = start_repo_server(site, self._argo, redis, proxy.url, sorted(hosts))
        server.wait_ready(READY_SECONDS)
        start_controller(site, self._argo, redis, address, self.namespace).wait_ready(READY_SECONDS)

    def _hosts(self) -> dict[str, Host]:
        entries = [entry.body["spec"] for entry in self._entries()]
        named = [chart for entry in entries if (chart := chart_of(entry))]
        git = first_git_source(entries)
        folder = self._site.folder / "fleet" / "git" / git.host
        return {**chart_hosts(self.charts, named), git.host: git_host(self._argo.git, folder)}

    def _entries(self) -> list[Manifest]:
        """All Applications of the clusters, but for the roots."""
        return [entry for spec in self._specs.values() for entry in applications(spec.synced)]

    def _cluster_secret(self, name: str, proxy: Proxy) -> Object:
        site = self._members[name].plane.site
        known = Destination(self._server(name), self._destinations[name].name)
        files = (site.authority.file, *site.admin)
        return cluster_secret(self.namespace, name, known, proxy.url, *(file.read_bytes() for file in files))

    def _server(self, name: str) -> str:
        """The address under which Argo CD knows a cluster; an invented one where Applications have the name alone."""
        return self._destinations[name].server or f"https://{name}.clusters.invalid"

    def _configure(self, data: dict[str, str]) -> None:
        self.client.patch("v1", "ConfigMap", "argocd-cm", {"data": data}, self.namespace)

    def _has_chart(self, source: ChartSource) -> bool:
        return self.charts.find(source.name, source.version) is not None

    def _said(self, name: str) -> Callable[[str], None]:
        return lambda step: self._progress(f"{name}: {step}")

    @property
    def _site(self) -> Site:
        return self._own.site


def workload_destination(synced: Sequence[Manifest]) -> Destination:
    """The cluster that the Applications of a spec apply to."""
    return destination(applications(synced)[0].body["spec"])
