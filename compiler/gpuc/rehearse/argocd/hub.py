"""Argo CD, either in the cluster that it syncs, or in a separate cluster that syncs several others."""

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
from gpuc.rehearse.argocd.http_handlers import Handler, chart_handlers, git_handler
from gpuc.rehearse.argocd.prerequisites import argo_definitions, cluster_secret, install_argo_cd, merged_health
from gpuc.rehearse.argocd.processes import start_controller, start_redis, start_repo_server
from gpuc.rehearse.argocd.programs import ArgoPrograms
from gpuc.rehearse.argocd.proxy import Proxy
from gpuc.rehearse.argocd.repository import FleetRepository, documents, first_git_source, fleet_repository
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.plane import READY_SECONDS, ControlPlane
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.programs import Programs
from gpuc.rehearse.started import Started

APPLICATION = ("argoproj.io/v1alpha1", "Application")
REFRESH = "argocd.argoproj.io/refresh"
HUB = 99
"""The number of the cluster of Argo CD, if Argo CD has a separate one."""


class ArgoCD(Started):
    """Argo CD, its clusters, and the repository of the fleet; a context manager."""

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
        """fleet is the folder with specs/; charts and crds are folders of the user.

        If the destination of a spec is the cluster of Argo CD, both share a control plane. Otherwise Argo CD has a
        separate control plane.

        Raises:
            UsageError: if several specs have the cluster of Argo CD as destination, a server has a path, a .tgz file is
                not a chart, or this user may not listen on port 443 of loopback.
        """
        self._programs, self._argo, self._fleet, self._crds = programs, argo, fleet, crds
        self._specs = {spec.cluster.name: spec for spec in specs}
        self._progress = progress
        self.charts = Charts(filter(None, (argo.data("charts"), charts)))
        """The charts that Argo CD can render."""
        self._destinations = {name: workload_destination(spec.synced) for name, spec in self._specs.items()}
        if len(specs) > 1 and any(found.is_own for found in self._destinations.values()):
            raise UsageError("every cluster of an Argo CD needs its own server or name in delivery.destination")
        for found in self._destinations.values():
            if urlsplit(found.server).path.strip("/"):
                raise UsageError(f"--argocd does not support a server with a path: {found.server}")
        require_service_addresses()
        self._is_hub = not next(iter(self._destinations.values())).is_own
        self._members: dict[str, ArgoCluster] = {}
        self.clusters: dict[str, Client] = {}
        """Clients by name of the cluster."""
        self.seconds: dict[str, float] = {}
        """Duration of each part of the start."""

    def start(self, stack: ExitStack) -> None:
        """Starts everything. The first sync starts with `bootstrap`.

        Raises:
            ProgramError: if a program does not start.
            RepositoryError: if the fleet's repository cannot be served.
            ApiError: if an API server refuses an object that Argo CD needs.
        """
        started = time.monotonic()
        self._start_planes(stack)
        self.seconds["control planes"] = time.monotonic() - started
        started = time.monotonic()
        self.repository = self._new_repository()
        self.repository.commit("Initial state of the fleet")
        self._start_argo(stack)
        self.seconds["Argo CD"] = time.monotonic() - started

    @property
    def not_rendered(self) -> dict[str, str]:
        """Applications of these clusters that are left out because a chart is missing, with the reason."""
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
        """Follows clusters/<name>/README.md: prerequisites, health checks, AppProject, root Application.

        Raises:
            ApiError: if the API server refuses an object.
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
        """Requests a comparison of Applications with Git, as the webhook of a push does."""
        for name in names:
            changes = {"metadata": {"annotations": {REFRESH: "normal"}}}
            self.client.patch(*APPLICATION, name, changes, self.namespace)

    def update_instance_types(self, spec: CompiledSpec) -> None:
        """Adds the instance types of a changed spec to the simulated provider. Call it before the commit."""
        self._members[spec.cluster.name].update_instance_types(spec)

    def repackage(self, chart: str, old: str, new: str) -> None:
        """Publishes a chart again under another version.

        Raises:
            ValueError: if the chart does not exist.
        """
        found = self.charts.find(chart, old)
        if found is None:
            raise ValueError(f"chart {chart} {old} does not exist")
        self.charts.repackage(self._argo.path("helm"), found, new, Path(tempfile.mkdtemp(dir=self._site.folder)))

    def require_alive(self) -> None:
        """Raises: ProgramError if a program has ended."""
        self._own.require_alive()
        for member in self._members.values():
            member.require_alive()

    def memory_mib(self) -> dict[str, int]:
        """Memory use by program. If Argo CD has a separate cluster, the other names start with their cluster."""
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
            member = ArgoCluster(self._programs, spec, number, self._crds, extra, self._progress_of(name))
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

    def _hosts(self) -> dict[str, Handler]:
        entries = [entry.body["spec"] for entry in self._entries()]
        named = [chart for entry in entries if (chart := chart_of(entry))]
        git = first_git_source(entries)
        folder = self._site.folder / "fleet" / "git" / git.host
        return {**chart_handlers(self.charts, named), git.host: git_handler(self._argo.git, folder)}

    def _entries(self) -> list[Manifest]:
        """All Applications of the clusters, without the root Applications."""
        return [entry for spec in self._specs.values() for entry in applications(spec.synced)]

    def _cluster_secret(self, name: str, proxy: Proxy) -> Object:
        site = self._members[name].plane.site
        known = Destination(self._server(name), self._destinations[name].name)
        files = (site.authority.file, *site.admin)
        return cluster_secret(self.namespace, name, known, proxy.url, *(file.read_bytes() for file in files))

    def _server(self, name: str) -> str:
        """The server of a cluster in Argo CD. A generated one if the Applications have only a name."""
        return self._destinations[name].server or f"https://{name}.clusters.invalid"

    def _configure(self, data: dict[str, str]) -> None:
        self.client.patch("v1", "ConfigMap", "argocd-cm", {"data": data}, self.namespace)

    def _has_chart(self, source: ChartSource) -> bool:
        return self.charts.find(source.name, source.version) is not None

    def _progress_of(self, name: str) -> Callable[[str], None]:
        return lambda step: self._progress(f"{name}: {step}")

    @property
    def _site(self) -> Site:
        return self._own.site


def workload_destination(synced: Sequence[Manifest]) -> Destination:
    """The cluster that the Applications of a spec apply to."""
    return destination(applications(synced)[0].body["spec"])
