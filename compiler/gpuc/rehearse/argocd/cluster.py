"""One cluster of a run: its control plane, its kubelet, and what plays the absent controllers."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from gpuc.diagnostics.usage import UsageError
from gpuc.manifest.manifest import Body
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.argocd.applications import namespaces_of_charts
from gpuc.rehearse.argocd.kubelet import Kubelet
from gpuc.rehearse.argocd.loop import Loop
from gpuc.rehearse.argocd.players import PAUSE_SECONDS, Players
from gpuc.rehearse.argocd.prerequisites import namespaces, system_nodes
from gpuc.rehearse.argocd.profiles import PROFILES
from gpuc.rehearse.client import Client
from gpuc.rehearse.crds import definitions
from gpuc.rehearse.plane import READY_SECONDS, ControlPlane
from gpuc.rehearse.plane.kwok import start_kwok
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.process import stop
from gpuc.rehearse.programs import Programs
from gpuc.rehearse.started import Started
from gpuc.rehearse.substitute import settings

_RUNS = 64
"""How many runs on one machine may have addresses of their own."""


def service_range(number: int) -> str:
    """The addresses of Services of one cluster of this run.

    They lie on loopback, so that the API server reaches a webhook where its chart says that the webhook is.
    """
    return f"127.{64 + os.getpid() % _RUNS}.{number}.0/24"


def require_service_addresses() -> None:
    """Raises: UsageError where a program of this user cannot listen at the addresses of Services."""
    address = service_range(0).removesuffix("0/24") + "1"
    try:
        with socket.create_server((address, 443)):
            return
    except PermissionError:
        way = "run it as root, or `sysctl net.ipv4.ip_unprivileged_port_start=443`"
    except OSError as error:
        way = f"this system says {error.strerror}; Linux has the whole of 127.0.0.0/8 on loopback"
    raise UsageError(f"--argocd lets webhooks listen on {address}:443, as their Services do: {way}")


class ArgoCluster(Started):
    """A control plane to which charts bring Kueue, Gatekeeper and Karpenter; a context manager."""

    def __init__(
        self,
        programs: Programs,
        spec: CompiledSpec,
        number: int,
        crds: Path | None,
        own: Sequence[bytes | Body],
        progress: Callable[[str], None],
    ) -> None:
        """number is different for every cluster of a run; own are definitions that only this control plane has."""
        outside = definitions(programs, crds, spec.cluster.spec.kueue.frameworks, outside_charts=True)
        charts = {chart: place for chart, place in namespaces_of_charts(spec.synced).items() if chart in PROFILES}
        self._settings: Settings = replace(
            settings(spec, outside),
            crds=(*outside.crds, *own),
            from_charts=True,
            service_range=service_range(number),
            other_kubelet=sorted(charts.values()),
        )
        self._charts = {place: chart for chart, place in charts.items()}
        self._plane = ControlPlane(programs, self._settings, progress)

    def start(self, stack: ExitStack) -> None:
        """Starts everything.

        Raises:
            ProgramError: when a program does not start.
        """
        stack.enter_context(self._plane)
        self.client: Client = self._plane.client
        self.kubelet = Kubelet(self._plane.site, self.client, self._settings, self._charts)
        self._players = Loop("the players of absent controllers", Players(self.client).turn, PAUSE_SECONDS)
        for ended, begun in ((self.kubelet.stop, self.kubelet.loop.start), (self._players.stop, self._players.start)):
            stack.callback(ended)
            begun()

    @property
    def plane(self) -> ControlPlane:
        """Where it runs."""
        return self._plane

    def prepare(self, spec: CompiledSpec, left_out: Collection[str]) -> None:
        """Makes what an operator has before the first sync: nodes for controllers, namespaces of others.

        left_out are names of Applications that are not synced, and so make no namespace.
        """
        for node in system_nodes(spec.cluster):
            if self.client.find("v1", "Node", node["metadata"]["name"]) is None:
                self.client.create(node)
        synced = [manifest for manifest in spec.synced if manifest.name not in left_out]
        for document in namespaces(spec.cluster, synced):
            self.client.apply(document)

    def offer(self, spec: CompiledSpec) -> None:
        """Lets the simulated provider have what the pools of a changed spec ask for, beside what it has.

        Call it from the main thread: the programs end with the thread that started them.

        Raises:
            ProgramError: when kwok does not start again.
        """
        given = settings(spec, definitions(self._plane.site.programs, None, (), outside_charts=True))
        types = {str(offered["name"]): offered for offered in (*self._settings.instance_types, *given.instance_types)}
        stages = {str(made["metadata"]["name"]): made for made in (*self._settings.node_stages, *given.node_stages)}
        changed = replace(self._settings, instance_types=tuple(types.values()), node_stages=tuple(stages.values()))
        if changed.node_stages != self._settings.node_stages:
            site = self._plane.site
            old = [process for process in site.processes if process.name == "kwok"]
            stop(old)
            site.processes[:] = [process for process in site.processes if process.name != "kwok"]
            start_kwok(site, changed).wait_ready(READY_SECONDS)
        if changed.instance_types != self._settings.instance_types:
            self.kubelet.restart("karpenter", changed)
        self._settings = changed

    def require_alive(self) -> None:
        """Raises: ProgramError when something has ended."""
        self._plane.require_alive()
        self.kubelet.require_alive()
        self._players.require_alive()

    def memory_mib(self) -> dict[str, int]:
        """Memory that each program holds now."""
        return self._plane.memory_mib() | self.kubelet.memory_mib()

    def logs(self) -> dict[str, Path]:
        """The log file of each program."""
        return self._plane.logs() | self.kubelet.logs()
