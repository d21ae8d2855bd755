"""A simulated kubelet for the namespaces of charts: it runs a process for a Deployment, and lets Jobs succeed."""

from __future__ import annotations

import base64
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpuc.rehearse.argocd.background_loop import BackgroundLoop
from gpuc.rehearse.argocd.pods import (
    Mount,
    arguments,
    deployment_of,
    environment,
    is_of_job,
    mounts,
    namespace_labels,
    service_of,
)
from gpuc.rehearse.argocd.profiles import PROFILES, PodRun
from gpuc.rehearse.argocd.visibility import serve_visibility
from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.process import Process, ProgramError, stop

PAUSE_SECONDS = 1.0
RESTART_SECONDS = 1.0
RESTARTS = 20
"""A program that ends more often is broken. Gatekeeper ends once, after it has created its certificate."""
POD_NETWORK = "10.251"


@dataclass
class RunningDeployment:
    """The process of a Deployment."""

    template: str
    """Hash of the pod template."""
    pod: Object
    """The pod whose identity the process has."""
    process: Process
    mounted: list[tuple[Mount, Path]]
    restarts: int = 0
    ended: float | None = None
    is_ready: bool = False


@dataclass
class Kubelet:
    """Runs the pods of the charts' namespaces of a control plane."""

    site: Site
    client: Client
    settings: Settings
    charts: Mapping[str, str]
    """Names of charts by namespace."""
    _runs: dict[tuple[str, str], RunningDeployment] = field(default_factory=dict)
    _addresses: int = 0
    _versions: dict[str, str] = field(default_factory=dict)
    _served: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Functions that stop the replacement of Kueue's visibility server, by namespace."""

    def __post_init__(self) -> None:
        self.loop = BackgroundLoop("the kubelet of Kueue, Gatekeeper and Karpenter", self._sync, PAUSE_SECONDS)

    def stop(self) -> None:
        """Stops the loop and all processes."""
        self.loop.stop()
        stop(run.process for run in self._runs.values())
        for end in self._served.values():
            end()

    def restart(self, chart: str, settings: Settings) -> None:
        """Restarts the programs of a chart with new settings."""
        self.settings = settings
        for (namespace, _), run in list(self._runs.items()):
            if self.charts[namespace] == chart:
                run.template = ""

    def require_alive(self) -> None:
        """Raises: ProgramError if the kubelet has ended, or a program ended too often."""
        self.loop.require_alive()
        for (namespace, name), run in list(self._runs.items()):
            if run.restarts > RESTARTS:
                raise ProgramError(f"{namespace}/{name} ended {run.restarts} times:\n{run.process.tail()}")

    def memory_mib(self) -> dict[str, int]:
        """Current memory use of each program."""
        return {name: run.process.memory_mib() for (_, name), run in list(self._runs.items())}

    def logs(self) -> dict[str, Path]:
        """The log file of each program."""
        return {name: run.process.log for (_, name), run in list(self._runs.items())}

    def _sync(self) -> None:
        for namespace in self.charts:
            pods = [pod for pod in self.client.list_all("v1", "Pod", namespace) if _is_scheduled(pod)]
            groups: dict[str, list[Object]] = {}
            for pod in pods:
                if is_of_job(pod):
                    self._complete(pod)
                elif name := deployment_of(pod)[0]:
                    groups.setdefault(name, []).append(pod)
            for name, group in groups.items():
                self._sync_deployment(namespace, name, group)
            for key in [key for key in self._runs if key[0] == namespace and key[1] not in groups]:
                stop([self._runs.pop(key).process])

    def _sync_deployment(self, namespace: str, name: str, pods: list[Object]) -> None:
        """Runs the newest template of a Deployment, and makes its pods ready when the process is ready."""
        key = namespace, name
        newest = max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]))
        template = deployment_of(newest)[1]
        current = sorted(
            (pod for pod in pods if deployment_of(pod)[1] == template), key=lambda pod: str(pod["metadata"]["name"])
        )
        run = self._runs.get(key)
        names = {pod["metadata"]["uid"] for pod in current}
        if run is None or run.template != template or run.pod["metadata"]["uid"] not in names:
            if run is not None:
                stop([self._runs.pop(key).process])
            run = self._runs[key] = self._start(namespace, name, current[0], template)
        run = self._runs[key] = self._restarted(namespace, name, run)
        self._write_volumes(namespace, run.mounted)
        run.is_ready = run.is_ready or (run.ended is None and run.process.ready())
        if run.is_ready:
            for pod in current:
                self._make_ready(pod)
            self._serve_visibility(namespace, run.pod)

    def _restarted(self, namespace: str, name: str, run: RunningDeployment) -> RunningDeployment:
        """The same process, or a new one shortly after the process has ended."""
        if run.process.child.poll() is None or run.restarts > RESTARTS:
            return run
        if run.ended is None:
            run.ended = time.monotonic()
        if time.monotonic() - run.ended < RESTART_SECONDS:
            return run
        restarted = self._start(namespace, name, run.pod, run.template)
        restarted.restarts = run.restarts + 1
        return restarted

    def _start(self, namespace: str, name: str, pod: Object, template: str) -> RunningDeployment:
        folder = self.site.subfolder("pods") / name
        folder.mkdir(exist_ok=True)
        container = pod["spec"]["containers"][0]
        mounted = [(mount, _place(folder, mount)) for mount in mounts(pod, container)]
        self._write_volumes(namespace, mounted, force=True)
        variables = environment(pod, container, lambda kind, name: self._data(kind, name, namespace))
        command_line = arguments(container, variables)
        services = self.client.list_all("v1", "Service", namespace)
        prepared = PodRun(self.site, self.settings, pod, command_line, variables, mounted, services, folder)
        launch = PROFILES[self.charts[namespace]](prepared)
        program = self.site.programs.path(launch.program)
        process = self.site.spawn(name, program, launch.arguments, launch.ready_url, launch.environment)
        return RunningDeployment(template, pod, process, mounted)

    def _write_volumes(self, namespace: str, mounted: list[tuple[Mount, Path]], *, force: bool = False) -> None:
        """Writes changed ConfigMaps and Secrets to their mount paths."""
        for mount, place in mounted:
            if not mount.kind:
                place.mkdir(parents=True, exist_ok=True)
                continue
            found = self.client.find("v1", mount.kind, mount.name, namespace)
            version = found["metadata"]["resourceVersion"] if found else ""
            if not force and self._versions.get(str(place)) == version:
                continue
            self._versions[str(place)] = version
            _write(place, mount, _contents(found or {}))

    def _data(self, kind: str, name: str, namespace: str) -> dict[str, str]:
        found = self.client.find("v1", kind, name, namespace) or {}
        return {key: content.decode(errors="replace") for key, content in _contents(found).items()}

    def _make_ready(self, pod: Object) -> None:
        if pod["status"].get("podIP"):
            return
        self._addresses += 1
        address = f"{POD_NETWORK}.{self._addresses // 250}.{self._addresses % 250 + 1}"
        self._patch_status(pod, running_status(pod, address, _now()))

    def _complete(self, pod: Object) -> None:
        """Completes the pod of a Job. The only action of Jobs that is executed is labelling namespaces."""
        if pod["status"].get("phase") == "Succeeded":
            return
        for container in pod["spec"]["containers"]:
            names, labels = namespace_labels(container)
            for name in names:
                self.client.patch("v1", "Namespace", name, {"metadata": {"labels": labels}})
        self._patch_status(pod, succeeded_status(pod, _now()))

    def _patch_status(self, pod: Object, status: Object) -> None:
        metadata = pod["metadata"]
        self.client.patch("v1", "Pod", metadata["name"], {"status": status}, metadata["namespace"], "status")

    def _serve_visibility(self, namespace: str, pod: Object) -> None:
        """Serves Kueue's visibility APIs, whose server is off. Without them, the API server is not healthy."""
        if self.charts[namespace] != "kueue" or namespace in self._served:
            return
        address = service_of(self.client.list_all("v1", "Service", namespace), pod, "visibility")
        if address:
            self._served[namespace] = serve_visibility(self.site.authority, *address)


def running_status(pod: Object, address: str, now: str) -> Object:
    """The status of a pod whose containers are ready."""
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": now}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": _statuses(pod, {"running": {"startedAt": now}}, ready=True),
    }


def succeeded_status(pod: Object, now: str) -> Object:
    """The status of a pod whose containers have succeeded."""
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    return {
        "phase": "Succeeded",
        "startTime": now,
        "containerStatuses": _statuses(pod, {"terminated": ended}, ready=False),
    }


def _statuses(pod: Object, state: Mapping[str, Any], *, ready: bool) -> list[Object]:
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": 0,
            "state": dict(state),
        }
        for container in pod["spec"]["containers"]
    ]


def _is_scheduled(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) and "deletionTimestamp" not in pod["metadata"]


def _place(folder: Path, mount: Mount) -> Path:
    return folder / "volumes" / mount.path.strip("/")


def _contents(found: Mapping[str, Any]) -> dict[str, bytes]:
    """The files of a ConfigMap or a Secret by name."""
    if found.get("kind") == "Secret":
        return {name: base64.b64decode(content) for name, content in found.get("data", {}).items()}
    return {name: str(content).encode() for name, content in found.get("data", {}).items()}


def _write(place: Path, mount: Mount, contents: Mapping[str, bytes]) -> None:
    if mount.sub_path:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents.get(mount.sub_path, b""))
        return
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        if old.name not in contents:
            with suppress(OSError):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, content in contents.items():
        (place / name).write_bytes(content)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
