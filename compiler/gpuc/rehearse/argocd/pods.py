"""Arguments, environment and volumes of a pod's container, as a kubelet computes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuc.rehearse.client import Object

HASH_LABEL = "pod-template-hash"
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
Lookup = Callable[[str, str], Mapping[str, str]]
"""Returns the data of a ConfigMap or a Secret by kind and name; empty if the object does not exist."""


@dataclass(frozen=True)
class Mount:
    """A volume mount of a container."""

    path: str
    kind: str
    """ConfigMap or Secret; empty for any other volume."""
    name: str
    sub_path: str


def deployment_of(pod: Object) -> tuple[str, str]:
    """(Deployment, hash of the pod template) of a pod; empty if the pod does not belong to a Deployment."""
    template = pod["metadata"].get("labels", {}).get(HASH_LABEL, "")
    for owner in pod["metadata"].get("ownerReferences", ()):
        if owner["kind"] == "ReplicaSet" and template:
            return str(owner["name"]).removesuffix(f"-{template}"), template
    return "", ""


def is_of_job(pod: Object) -> bool:
    """Whether the pod belongs to a Job."""
    return any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences", ()))


def environment(pod: Object, container: Mapping[str, Any], lookup: Lookup) -> dict[str, str]:
    """The environment variables of a container, without resource limits, because the process has none."""
    found: dict[str, str] = {}
    for entry in container.get("env", ()):
        value = entry["value"] if "value" in entry else _referenced_value(pod, entry.get("valueFrom", {}), lookup)
        if value is not None:
            found[entry["name"]] = expanded(str(value), found)
    return found


def arguments(container: Mapping[str, Any], variables: Mapping[str, str]) -> list[str]:
    """The arguments of the container's program."""
    words = [*container.get("command", ())[1:], *container.get("args", ())]
    return [expanded(str(word), variables) for word in words]


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Replaces $(NAME) with the value of the variable. Unknown variables are unchanged."""
    return _REFERENCE.sub(lambda match: variables.get(match[1], match[0]), text)


def mounts(pod: Object, container: Mapping[str, Any]) -> list[Mount]:
    """The volume mounts of a container, the deepest paths first."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", ())}
    found = []
    for entry in container.get("volumeMounts", ()):
        kind, name = _source(volumes.get(entry["name"], {}))
        found.append(Mount(entry["mountPath"], kind, name, entry.get("subPath", "")))
    return sorted(found, key=lambda mount: (-mount.path.count("/"), mount.path))


def relocated(word: str, mounted: Iterable[tuple[Mount, Path]]) -> str:
    """An argument in which the path of a volume is replaced by the folder on this machine."""
    flag, separator, value = word.partition("=")
    path = value if separator else flag
    for mount, place in mounted:
        if path == mount.path or path.startswith(f"{mount.path}/"):
            path = f"{place}{path.removeprefix(mount.path)}"
            return f"{flag}={path}" if separator else path
    return word


def with_flags(words: Iterable[str], flags: Mapping[str, str]) -> list[str]:
    """Arguments with the given flags, which replace the same flags of the pod."""
    kept = [word for word in words if word.partition("=")[0].lstrip("-") not in flags]
    return [*kept, *(f"--{name}={value}" for name, value in flags.items())]


def service_of(services: Iterable[Object], pod: Object, container_port: str) -> tuple[str, int] | None:
    """Address and port of the Service for a named port of a pod, or None."""
    labels = pod["metadata"].get("labels", {})
    numbers = {
        port.get("name", ""): port["containerPort"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
    }
    wanted = (container_port, numbers.get(container_port))
    for service in services:
        selector = service["spec"].get("selector", {})
        if not selector or not selector.items() <= labels.items():
            continue
        for port in service["spec"]["ports"]:
            if port.get("targetPort", port["port"]) in wanted:
                return str(service["spec"]["clusterIP"]), int(port["port"])
    return None


def namespace_labels(container: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """(namespaces, labels) of a container that runs `kubectl label ns NAME... KEY=VALUE...`; empty for any other."""
    words = [str(word) for word in container.get("args", ())]
    if words[:2] != ["label", "ns"]:
        return [], {}
    pairs = (word.partition("=") for word in words[2:] if "=" in word and not word.startswith("-"))
    names = [word for word in words[2:] if "=" not in word and not word.startswith("-")]
    return names, {key: value for key, _, value in pairs}


def _source(volume: Mapping[str, Any]) -> tuple[str, str]:
    if "configMap" in volume:
        return "ConfigMap", str(volume["configMap"]["name"])
    if "secret" in volume:
        return "Secret", str(volume["secret"]["secretName"])
    return "", ""


def _referenced_value(pod: Object, source: Mapping[str, Any], lookup: Lookup) -> str | None:
    if "fieldRef" in source:
        return _field(pod, source["fieldRef"]["fieldPath"])
    for key, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        if key in source:
            return lookup(kind, source[key]["name"]).get(source[key]["key"])
    return None


def _field(pod: Object, path: str) -> str | None:
    found: Any = pod
    named = re.fullmatch(r"(metadata\.(?:labels|annotations))\['(.*)'\]", path)
    for step in (*named[1].split("."), named[2]) if named else path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return None if found is None else str(found)
