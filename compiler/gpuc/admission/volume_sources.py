"""The ConfigMaps and Secrets that a pod needs for its start.

Source: k8s.io/kubernetes v1.35.4 pkg/api/v1/pod/util.go (VisitPodSecretNames, VisitPodConfigmapNames)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.admission.documents import PodPart
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

CONFIG_MAP, SECRET = "ConfigMap", "Secret"
_VOLUMES = (
    (CONFIG_MAP, "configMap", "name"),
    (SECRET, "secret", "secretName"),
    (SECRET, "csi.nodePublishSecretRef", "name"),
)
_PROJECTED = (CONFIG_MAP, "configMap", "name"), (SECRET, "secret", "name")
_ENV = (CONFIG_MAP, "configMapKeyRef", "name"), (SECRET, "secretKeyRef", "name")
_ENV_FROM = (CONFIG_MAP, "configMapRef", "name"), (SECRET, "secretRef", "name")


def named_objects(pod: PodPart) -> Iterator[tuple[str, str, Path]]:
    """Yields the kind, the name and the path of every ConfigMap and Secret that a pod needs, without optional ones."""
    for number, volume in items(dig(pod.spec, "volumes")):
        path: Path = (*pod.path, "spec", "volumes", number)
        yield from _sources(volume, path, _VOLUMES)
        for position, source in items(dig(volume, "projected", "sources")):
            yield from _sources(source, (*path, "projected", "sources", position), _PROJECTED)
    for container_path, container in pod.containers():
        for number, variable in items(dig(container, "env")):
            yield from _sources(dig(variable, "valueFrom"), (*container_path, "env", number, "valueFrom"), _ENV)
        for number, source in items(dig(container, "envFrom")):
            yield from _sources(source, (*container_path, "envFrom", number), _ENV_FROM)
    for number, secret in items(dig(pod.spec, "imagePullSecrets")):
        if isinstance(name := dig(secret, "name"), str) and name:
            yield SECRET, name, (*pod.path, "spec", "imagePullSecrets", number, "name")


def _sources(value: Any, path: Path, fields: tuple[tuple[str, str, str], ...]) -> Iterator[tuple[str, str, Path]]:
    for kind, field, key in fields:
        steps = field.split(".")
        source = dig(value, *steps)
        name = dig(source, key)
        if isinstance(name, str) and name and dig(source, "optional") is not True:
            yield kind, name, (*path, *steps, key)
