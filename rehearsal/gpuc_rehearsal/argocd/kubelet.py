"""A simulated kubelet for the namespaces of charts. Each Deployment runs as one process, and Jobs succeed at once."""

import base64
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuc_rehearsal.argocd.pods import (
    Mount,
    PodRun,
    arguments,
    deployment_of,
    environment,
    is_of_job,
    mounts,
    namespace_labels,
    starters,
)
from gpuc_rehearsal.client import Client, Object, new_object, now_text
from gpuc_rehearsal.plane.site import Settings, Site
from gpuc_rehearsal.process import Process, ProgramError, stop

RESTART_SECONDS = 1.0
RESTARTS = 20
"""Limit of restarts; a program that ends more often is broken. Gatekeeper ends once, after creating a certificate."""
POD_NETWORK = "10.251"


class RunningDeployment(Struct):
    """The process that replaces the pods of a Deployment in a rehearsal."""

    template: str
    """Hash of the pod template."""
    started: PodRun
    """The pod whose name, environment and volumes the process has."""
    process: Process
    restarts: int = 0
    ended: float | None = None
    """Monotonic time of the end of the process, or None."""
    is_ready: bool = False


class Kubelet(Struct):
    """Simulates the kubelet of one control plane: in the namespaces of charts, runs a process for each Deployment."""

    site: Site
    client: Client
    settings: Settings
    charts: Mapping[str, str]
    """Name of the chart by namespace."""
    runs: dict[tuple[str, str], RunningDeployment] = field(default_factory=dict)
    _addresses: int = 0
    """Number of pods that have an address."""

    def stop(self) -> None:
        """Stops the processes of all Deployments."""
        stop(run.process for run in self.runs.values())

    def require_alive(self) -> None:
        """Raises a ProgramError if the program of a Deployment ended more than RESTARTS times."""
        for (namespace, name), run in list(self.runs.items()):
            if run.restarts > RESTARTS:
                ended = f"the program of Deployment {namespace}/{name} ended {run.restarts} times"
                raise ProgramError(f"{ended}:\n{run.process.tail()}")

    def memory_mib(self) -> int:
        """Returns the resident memory in MiB of the processes of all Deployments together."""
        return sum(run.process.memory_mib() for run in list(self.runs.values()))

    def reconcile(self) -> None:
        """Compares pods with processes once: starts, restarts or stops processes, and writes the status of the pods."""
        for namespace in self.charts:
            groups: dict[str, list[Object]] = {}
            for pod in self.client.list_all("v1", "Pod", namespace):
                if not pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
                    continue
                if is_of_job(pod):
                    self._complete(pod)
                elif name := deployment_of(pod)[0]:
                    groups.setdefault(name, []).append(pod)
            for name, group in groups.items():
                self._sync_deployment(namespace, name, group)
            for key in [key for key in self.runs if key[0] == namespace and key[1] not in groups]:
                stop([self.runs.pop(key).process])

    def _sync_deployment(self, namespace: str, name: str, pods: list[Object]) -> None:
        """Runs the newest pod template of a Deployment, and marks its pods as ready when the process is ready."""
        key = namespace, name
        template = deployment_of(max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"])))[1]
        current = [pod for pod in pods if deployment_of(pod)[1] == template]
        current.sort(key=lambda pod: str(pod["metadata"]["name"]))
        run = self.runs.get(key)
        uids = {pod["metadata"]["uid"] for pod in current}
        if run is None or run.template != template or run.started.pod["metadata"]["uid"] not in uids:
            if run is not None:
                stop([self.runs.pop(key).process])
            run = self.runs[key] = self._start(namespace, name, current[0], template)
        run = self.runs[key] = self._restarted(namespace, name, run)
        self._write_volumes(namespace, run.started.mounted)
        run.is_ready = run.is_ready or (run.ended is None and run.process.ready())
        if run.is_ready:
            for pod in current:
                self._make_ready(pod)

    def _restarted(self, namespace: str, name: str, run: RunningDeployment) -> RunningDeployment:
        """Returns the running process. Starts a new process RESTART_SECONDS after the process has ended."""
        if run.process.child.poll() is None or run.restarts > RESTARTS:
            return run
        if run.ended is None:
            run.ended = time.monotonic()
        if time.monotonic() - run.ended < RESTART_SECONDS:
            return run
        restarted = self._start(namespace, name, run.started.pod, run.template)
        restarted.restarts = run.restarts + 1
        return restarted

    def _start(self, namespace: str, name: str, pod: Object, template: str) -> RunningDeployment:
        folder = self.site.subfolder("pods") / name
        folder.mkdir(exist_ok=True)
        container = pod["spec"]["containers"][0]
        mounted = [(mount, folder / "volumes" / mount.path.strip("/")) for mount in mounts(pod, container)]
        self._write_volumes(namespace, mounted)
        variables = environment(pod, container, lambda kind, name: self._data(kind, name, namespace))
        command_line = arguments(container, variables)
        services = self.client.list_all("v1", "Service", namespace)
        prepared = PodRun(self.site, self.settings, pod, command_line, variables, mounted, services, folder)
        return RunningDeployment(template, prepared, starters()[self.charts[namespace]](prepared))

    def _write_volumes(self, namespace: str, mounted: list[tuple[Mount, Path]]) -> None:
        """Writes changed ConfigMaps and Secrets to the paths of their mounts."""
        for mount, path in mounted:
            source = self.client.find("v1", mount.kind, mount.name, namespace) if mount.kind else None
            _write_volume(path, mount, _contents(source or {}))

    def _data(self, kind: str, name: str, namespace: str) -> dict[str, str]:
        source = self.client.find("v1", kind, name, namespace) or {}
        return {key: content.decode(errors="replace") for key, content in _contents(source).items()}

    def _make_ready(self, pod: Object) -> None:
        if pod["status"].get("podIP"):
            return
        self._addresses += 1
        address = f"{POD_NETWORK}.{self._addresses // 250}.{self._addresses % 250 + 1}"
        self.client.patch_object(pod, {"status": running_status(pod, address, now_text())}, "status")

    def _complete(self, pod: Object) -> None:
        """Marks the pod of a Job as succeeded. The Job runs no program; only its labels for namespaces are applied."""
        if pod["status"].get("phase") == "Succeeded":
            return
        for container in pod["spec"]["containers"]:
            names, labels = namespace_labels(container)
            for name in names:
                self.client.patch_object(new_object("v1", "Namespace", name), {"metadata": {"labels": labels}})
        self.client.patch_object(pod, {"status": succeeded_status(pod, now_text())}, "status")


def running_status(pod: Object, address: str, now: str) -> Object:
    """Returns the status of a pod whose containers are ready. `now` is a time in RFC 3339."""
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
    """Returns the status of a pod whose containers have succeeded. `now` is a time in RFC 3339."""
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}
    statuses = _statuses(pod, {"terminated": ended}, ready=False)
    return {"phase": "Succeeded", "startTime": now, "containerStatuses": statuses}


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


def _contents(source: Mapping[str, Any]) -> dict[str, bytes]:
    """Returns the contents of a ConfigMap or a Secret by key."""
    decoded = base64.b64decode if source.get("kind") == "Secret" else str.encode
    return {name: decoded(str(content)) for name, content in source.get("data", {}).items()}


def _write_volume(path: Path, mount: Mount, contents: Mapping[str, bytes]) -> None:
    """Writes one file if the mount has a subPath. Otherwise writes all keys to a folder and removes other files."""
    files = {path / name: content for name, content in contents.items()}
    if mount.kind and mount.sub_path:
        files = {path: contents.get(mount.sub_path, b"")}
    else:
        path.mkdir(parents=True, exist_ok=True)
        for old in path.iterdir() if mount.kind else ():
            if old.is_file() and old not in files:
                old.unlink()
    for file, content in files.items():
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
