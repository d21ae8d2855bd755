"""Computes how a process on this machine replaces the container of a pod: arguments, variables and volumes."""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from gpuc.catalog import load
from gpuc.emit.component import components
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.parts import component_module
from gpuc_rehearsal.plane.site import Settings, Site
from gpuc_rehearsal.process import LOOPBACK, Process

HASH_LABEL = "pod-template-hash"
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
Lookup = Callable[[str, str], Mapping[str, str]]
"""A function that returns the data of a ConfigMap or a Secret by kind and name; empty if the object does not exist."""
_VOLUMES = {"configMap": ("ConfigMap", "name"), "secret": ("Secret", "secretName")}
"""Kind of the object whose keys are the files of a volume, and the field with its name, by kind of the volume."""
_WEBHOOK = "webhook-server"
"""The port name of Kueue's and Gatekeeper's webhooks."""


class Mount(NamedTuple):
    """A volume that is mounted in a container, for example a ConfigMap at the path /config."""

    path: str
    """The path in the container."""
    kind: str
    """ConfigMap or Secret. Empty for any other volume."""
    name: str
    """The name of the ConfigMap or Secret."""
    sub_path: str
    """The mounted key. Empty if all keys are mounted."""


def deployment_of(pod: Object) -> tuple[str, str]:
    """Returns the name of a pod's Deployment and the hash of the pod template; "" and "" for any other pod."""
    template = pod["metadata"].get("labels", {}).get(HASH_LABEL, "")
    for owner in pod["metadata"].get("ownerReferences", ()):
        if owner["kind"] == "ReplicaSet" and template:
            return str(owner["name"]).removesuffix(f"-{template}"), template
    return "", ""


def is_of_job(pod: Object) -> bool:
    """Returns whether a Job created the pod."""
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences", ()))


def environment(pod: Object, container: Mapping[str, Any], lookup: Lookup) -> dict[str, str]:
    """Returns the environment variables of a container. `lookup` reads a ConfigMap or a Secret."""
    variables: dict[str, str] = {}
    for row in container.get("env", ()):
        value = row["value"] if "value" in row else _referenced_value(pod, row.get("valueFrom", {}), lookup)
        if value is not None:
            variables[row["name"]] = expanded(str(value), variables)
    return variables


def arguments(container: Mapping[str, Any], variables: Mapping[str, str]) -> list[str]:
    """Returns the arguments of a container's program, in which $(NAME) is replaced by the variable NAME."""
    words = [*container.get("command", ())[1:], *container.get("args", ())]
    return [expanded(str(word), variables) for word in words]


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Replaces $(NAME) in a text by the value of the variable NAME. Unknown variables are not replaced."""
    return _REFERENCE.sub(lambda match: variables.get(match[1], match[0]), text)


def mounts(pod: Object, container: Mapping[str, Any]) -> list[Mount]:
    """Returns the volumes that are mounted in a container. Volumes with longer paths come first."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", ())}
    result = []
    for row in container.get("volumeMounts", ()):
        volume = volumes.get(row["name"], {})
        sources = ((kind, volume[key][field]) for key, (kind, field) in _VOLUMES.items() if key in volume)
        kind, name = next(sources, ("", ""))
        result.append(Mount(row["mountPath"], kind, name, row.get("subPath", "")))
    return sorted(result, key=lambda mount: (-mount.path.count("/"), mount.path))


def relocated(argument: str, mounted: Iterable[tuple[Mount, Path]]) -> str:
    """Returns a command-line argument in which a path in the container is replaced by the path on this machine.

    The argument is a path, or a flag with a path: --flag=PATH. `mounted` has the path on this machine of each volume.
    """
    flag, separator, value = argument.partition("=")
    path = value if separator else flag
    for mount, local_path in mounted:
        if path == mount.path or path.startswith(f"{mount.path}/"):
            path = f"{local_path}{path.removeprefix(mount.path)}"
            return f"{flag}={path}" if separator else path
    return argument


def with_flags(words: Iterable[str], flags: Mapping[str, str]) -> list[str]:
    """Returns arguments in which some flags are replaced or added: {"port": "80"} adds "--port=80"."""
    others = [word for word in words if word.partition("=")[0].lstrip("-") not in flags]
    return [*others, *(f"--{name}={value}" for name, value in flags.items())]


def service_of(services: Iterable[Object], pod: Object, container_port: str) -> tuple[str, int] | None:
    """Returns the address and port at which a Service serves a port of a pod; None without such a Service.

    `container_port` is the name of the port in the pod.
    """
    labels = pod["metadata"].get("labels", {})
    numbers = {
        port.get("name", ""): port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
    }
    targets = (container_port, numbers.get(container_port))
    for service in services:
        selector = service["spec"].get("selector", {})
        if not selector or not selector.items() <= labels.items():
            continue
        for port in service["spec"]["ports"]:
            if port.get("targetPort", port["port"]) in targets:
                return str(service["spec"]["clusterIP"]), int(port["port"])
    return None


def namespace_labels(container: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Returns the namespaces and labels of the command `kubectl label ns NAME... KEY=VALUE...` in a container.

    Both results are empty if the container runs another command.
    """
    words = [str(word) for word in container.get("args", ())]
    if words[:2] != ["label", "ns"]:
        return [], {}
    pairs = (word.partition("=") for word in words[2:] if "=" in word and not word.startswith("-"))
    names = [word for word in words[2:] if "=" not in word and not word.startswith("-")]
    return names, {key: value for key, _, value in pairs}


def _referenced_value(pod: Object, source: Mapping[str, Any], lookup: Lookup) -> str | None:
    if "fieldRef" in source:
        return _field(pod, source["fieldRef"]["fieldPath"])
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if key in source:
            return lookup(kind, source[key]["name"]).get(source[key]["key"])
    return None


def _field(pod: Object, path: str) -> str | None:
    value: Any = pod
    named = re.fullmatch(r"(metadata\.(?:labels|annotations))\['(.*)'\]", path)
    for step in (*named[1].split("."), named[2]) if named else path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return None if value is None else str(value)


class PodRun(Struct, frozen=True):
    """A pod whose container is replaced by a process on this machine: arguments, variables and mounted files."""

    site: Site
    settings: Settings
    pod: Object
    arguments: list[str]
    """Arguments of the container's program."""
    variables: dict[str, str]
    """Environment variables of the container."""
    mounted: list[tuple[Mount, Path]]
    """Pairs of a volume mount and its file or folder on this machine."""
    services: list[Object]
    """Services in the namespace of the pod."""
    folder: Path
    """Folder for files of the process. Its name is that of the Deployment and of the process."""

    def mounted_folder(self, path: str) -> Path:
        """Returns the folder on this machine for a mount path of the container; without a mount, the process folder."""
        return next((folder for mount, folder in self.mounted if mount.path == path), self.folder)

    def start(self, program: str, arguments: list[str], environment: dict[str, str], health: int) -> Process:
        """Starts a program that `gpuc tools` built. `health` is the port that reports whether the program is ready."""
        ready = f"http://{LOOPBACK}:{health}/readyz"
        path, variables = self.site.programs.path(program), self.variables | environment
        return self.site.spawn(self.folder.name, path, arguments, ready, variables)

    def webhook(self) -> tuple[str, int]:
        """Returns the address and port of the Service at which the webhooks listen, because no kube-proxy runs."""
        return service_of(self.services, self.pod, _WEBHOOK) or (LOOPBACK, self.site.port())


@cache
def starters() -> dict[str, Callable[[PodRun], Process]]:
    """Returns the functions that start the programs of charts, by the name of the chart, for example "kueue"."""
    charts = {row.component: row.chart for row in load().all_releases}
    return {charts[row.name]: component_module(row.folder).start for row in components() if row.rehearsal}
