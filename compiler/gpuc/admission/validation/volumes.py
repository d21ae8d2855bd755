"""Volumes of pods, and the volume mounts and devices of containers.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateVolumes, ValidateVolumeMounts,
ValidateVolumeDevices)
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.validation.judged_fields import unchecked
from gpuc.admission.validation.problem import Problem, Problems, dns_label, invalid, missing, one_of, text
from gpuc.admission.validation.volume_sources import SOURCES, has_back_steps
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

_PROPAGATION = ("None", "HostToContainer", "Bidirectional")
_RECURSIVE = ("Disabled", "IfPossible", "Enabled")
_CLAIMS = ("persistentVolumeClaim", "ephemeral")


def volumes(path: Path, spec: Any, *, is_pod: bool) -> Problems:
    """Checks the volumes of a pod: names, and exactly one source for each volume.

    Args:
        is_pod: whether the object is a pod; otherwise it is the template of pods.
    """
    names: set[str] = set()
    for number, volume in items(dig(spec, "volumes")):
        where: Path = (*path, "volumes", number)
        name = text(dig(volume, "name"))
        if not name:
            yield missing((*where, "name"))
        yield from dns_label((*where, "name"), name)
        if name in names:
            yield Problem((*where, "name"), f"two volumes have the name {name}")
        names.add(name)
        yield from _sources(where, volume, is_pod=is_pod)


def _sources(path: Path, volume: Any, *, is_pod: bool) -> Problems:
    yield from unchecked(path, volume, "volume")
    present = [name for name in (volume if isinstance(volume, dict) else ()) if name != "name"]
    if len(present) > 1:
        yield Problem((*path, present[1]), f"the volume has the sources {' and '.join(present)}; only one is allowed")
    for name in present:
        if name in SOURCES:
            yield from SOURCES[name]((*path, name), dig(volume, name), is_pod)


def volume_names(spec: Any) -> dict[str, bool]:
    """Returns the names of a pod's volumes, and whether a volume is a claim, which can be used as a block device."""
    return {
        text(dig(volume, "name")): any(dig(volume, source) is not None for source in _CLAIMS)
        for _, volume in items(dig(spec, "volumes"))
    }


def mounts(path: Path, container: Any, known: dict[str, bool]) -> Problems:
    """Checks the volume mounts of a container.

    Args:
        known: the volumes of the pod; see `volume_names`.
    """
    devices = {text(dig(row, "name")): dig(row, "devicePath") for _, row in items(dig(container, "volumeDevices"))}
    paths: set[str] = set()
    for number, mount in items(dig(container, "volumeMounts")):
        where: Path = (*path, "volumeMounts", number)
        name, target = text(dig(mount, "name")), text(dig(mount, "mountPath"))
        yield from _volume(where, name, known)
        if not target:
            yield missing((*where, "mountPath"))
        if target in paths or target in devices.values():
            yield Problem((*where, "mountPath"), f"two volumes of the container have the path {target}")
        if name in devices:
            yield Problem((*where, "name"), f"the container uses volume {name} as a device and as a mount")
        paths.add(target)
        yield from _mount_options(where, mount, container)


def _mount_options(path: Path, mount: Any, container: Any) -> Problems:
    for name in ("subPath", "subPathExpr"):
        value = text(dig(mount, name))
        if value.startswith("/") or has_back_steps(value):
            yield invalid((*path, name), value, "a relative path without ..")
    if text(dig(mount, "subPath")) and text(dig(mount, "subPathExpr")):
        yield Problem((*path, "subPathExpr"), "subPath and subPathExpr are both set", "remove subPath or subPathExpr")
    propagation, recursive = dig(mount, "mountPropagation"), dig(mount, "recursiveReadOnly")
    yield from one_of((*path, "mountPropagation"), propagation, _PROPAGATION)
    if propagation == "Bidirectional" and dig(container, "securityContext", "privileged") is not True:
        yield Problem((*path, "mountPropagation"), "Bidirectional needs a privileged container")
    yield from one_of((*path, "recursiveReadOnly"), recursive, _RECURSIVE)
    if recursive in ("IfPossible", "Enabled"):
        if dig(mount, "readOnly") is not True:
            yield Problem((*path, "recursiveReadOnly"), f"{recursive} needs readOnly: true", "add readOnly: true")
        if propagation not in (None, "None"):
            yield Problem((*path, "recursiveReadOnly"), f"{recursive} allows no mountPropagation {propagation}")


def devices(path: Path, container: Any, known: dict[str, bool]) -> Problems:
    """Checks the block devices of a container.

    Args:
        known: the volumes of the pod; see `volume_names`.
    """
    names: set[str] = set()
    paths: set[str] = set()
    for number, device in items(dig(container, "volumeDevices")):
        where: Path = (*path, "volumeDevices", number)
        name, target = text(dig(device, "name")), text(dig(device, "devicePath"))
        yield from _volume(where, name, known)
        if known.get(name) is False:
            yield Problem((*where, "name"), f"volume {name} is no device; expected {' or '.join(_CLAIMS)} as source")
        if not target:
            yield missing((*where, "devicePath"))
        if has_back_steps(target):
            yield invalid((*where, "devicePath"), target, "a path without ..")
        if name in names or target in paths:
            yield Problem(where, f"two devices of the container have the name {name} or the path {target}")
        names.add(name)
        paths.add(target)


def _volume(path: Path, name: str, known: dict[str, bool]) -> Problems:
    if not name:
        yield missing((*path, "name"))
    elif name not in known:
        listed = ", ".join(sorted(filter(None, known))) or "none"
        yield Problem((*path, "name"), f"the pod has no volume {name}; known: {listed}")
