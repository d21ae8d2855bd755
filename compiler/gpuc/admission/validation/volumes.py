"""Volumes of pods with their sources, and the volume mounts and devices of containers.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateVolumes, validateVolumeSource,
validateProjectionSources, ValidatePersistentVolumeClaimSpec, ValidateVolumeMounts, ValidateVolumeDevices)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gpuc.admission.validation.environment import field_reference, resource_reference
from gpuc.admission.validation.metadata import label_selector, labels_and_annotations
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_label,
    dns_subdomain,
    invalid,
    missing,
    number,
    one_of,
    repeated,
    required,
    rows,
    text,
    unchecked,
)
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import dig, items

_PROPAGATION = ("None", "HostToContainer", "Bidirectional")
_RECURSIVE = ("Disabled", "IfPossible", "Enabled")
_NAMES = {
    "configMap": ("name",), "nfs": ("server",), "persistentVolumeClaim": ("claimName",), "secret": ("secretName",)
}  # fmt: skip
"""The required text fields of volume sources."""
_CLAIMS = ("persistentVolumeClaim", "ephemeral")
_MODE_MAX = 0o777
_TEN_MINUTES = 600
_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
_FIELDS = frozenset(("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"))
_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_DRIVER = re.compile(r"(?i)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def volumes(path: Path, spec: Any, *, is_pod: bool) -> Problems:
    """Checks the volumes of a pod: names, and exactly one source for each volume.

    Args:
        is_pod: whether the object is a pod; otherwise it is the template of pods.
    """
    names: set[str] = set()
    for where, volume in rows(path, spec, "volumes"):
        name = text(dig(volume, "name"))
        yield from required(where, volume, "name")
        yield from dns_label((*where, "name"), name)
        yield from repeated((*where, "name"), name, names, f"two volumes have the name {name}")
        yield from _sources(where, volume, is_pod=is_pod)


def _sources(path: Path, volume: Any, *, is_pod: bool) -> Problems:
    yield from unchecked(path, volume, "volume")
    present = [name for name in (volume if isinstance(volume, dict) else ()) if name != "name"]
    if len(present) > 1:
        yield Problem((*path, present[1]), f"the volume has the sources {' and '.join(present)}; only one is allowed")
    for name in present:
        if name in SOURCES:
            yield from required((*path, name), dig(volume, name), *_NAMES.get(name, ()))
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
    for where, mount in rows(path, container, "volumeMounts"):
        name, target = text(dig(mount, "name")), text(dig(mount, "mountPath"))
        yield from _volume(where, name, known)
        yield from required(where, mount, "mountPath")
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
    for where, device in rows(path, container, "volumeDevices"):
        name, target = text(dig(device, "name")), text(dig(device, "devicePath"))
        yield from _volume(where, name, known)
        if known.get(name) is False:
            yield Problem((*where, "name"), f"volume {name} is no device; expected {' or '.join(_CLAIMS)} as source")
        yield from required(where, device, "devicePath")
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


def has_back_steps(path: str) -> bool:
    """Returns whether a path contains "..", which would lead out of a volume."""
    return ".." in path.split("/")


def _local_path(path: Path, value: Any) -> Problems:
    """Checks the path of a file in a volume."""
    if not text(value):
        yield missing(path)
    elif value.startswith("/") or value.startswith("..") or has_back_steps(value):
        yield invalid(path, value, "a relative path without ..")


def _mode(path: Path, value: Any) -> Problems:
    mode = number(value)
    if mode is not None and not 0 <= mode <= _MODE_MAX:
        yield invalid(path, mode, f"a number from 0 to {_MODE_MAX}, which is 0777 in octal")


def _keys(path: Path, source: Any, _: bool) -> Problems:
    """Checks defaultMode and the items of a ConfigMap or Secret."""
    yield from _mode((*path, "defaultMode"), dig(source, "defaultMode"))
    for where, item in rows(path, source, "items"):
        yield from required(where, item, "key")
        yield from _local_path((*where, "path"), dig(item, "path"))
        yield from _mode((*where, "mode"), dig(item, "mode"))


def _empty_dir(path: Path, source: Any, _: bool) -> Problems:
    size = quantity(dig(source, "sizeLimit"))
    if size is not None and size < 0:
        yield invalid((*path, "sizeLimit"), dig(source, "sizeLimit"), "0 or more")


def _host_path(path: Path, source: Any, _: bool) -> Problems:
    target = text(dig(source, "path"))
    if not target:
        yield missing((*path, "path"))
    elif has_back_steps(target):
        yield invalid((*path, "path"), target, "a path without ..")
    yield from one_of((*path, "type"), dig(source, "type"), _HOST_PATH_TYPES)


def _nfs(path: Path, source: Any, _: bool) -> Problems:
    if not text(dig(source, "path")).startswith("/"):
        yield invalid((*path, "path"), dig(source, "path"), "a path that begins with /")


def _csi(path: Path, source: Any, _: bool) -> Problems:
    driver, secret = text(dig(source, "driver")), dig(source, "nodePublishSecretRef")
    if not driver:
        yield missing((*path, "driver"))
    elif len(driver) > 63 or not _DRIVER.fullmatch(driver):
        yield invalid((*path, "driver"), driver, "at most 63 letters, digits, - and .")
    if secret is not None:
        yield from required((*path, "nodePublishSecretRef"), secret, "name")
        yield from dns_subdomain((*path, "nodePublishSecretRef", "name"), dig(secret, "name"))


def _image(path: Path, source: Any, is_pod: bool) -> Problems:
    if is_pod and not text(dig(source, "reference")):
        yield missing((*path, "reference"))
    yield from one_of((*path, "pullPolicy"), dig(source, "pullPolicy"), PULL_POLICIES)


def _downward(path: Path, source: Any, _: bool) -> Problems:
    yield from _mode((*path, "defaultMode"), dig(source, "defaultMode"))
    for where, item in rows(path, source, "items"):
        yield from _local_path((*where, "path"), dig(item, "path"))
        yield from _mode((*where, "mode"), dig(item, "mode"))
        field, resource = dig(item, "fieldRef"), dig(item, "resourceFieldRef")
        if (field is None) == (resource is None):
            yield Problem(where, "expected one of fieldRef and resourceFieldRef")
        if field is not None:
            yield from field_reference((*where, "fieldRef"), field, _FIELDS)
        elif resource is not None:
            yield from resource_reference((*where, "resourceFieldRef"), resource, is_volume=True)


def _projected(path: Path, source: Any, is_pod: bool) -> Problems:
    yield from _mode((*path, "defaultMode"), dig(source, "defaultMode"))
    paths: set[str] = set()
    for where, projection in rows(path, source, "sources"):
        yield from unchecked(where, projection, "projected source")
        if isinstance(projection, dict) and len(projection) > 1:
            yield Problem(where, f"the source has {' and '.join(projection)}; only one is allowed")
        for name in ("secret", "configMap"):
            if dig(projection, name) is not None:
                yield from required((*where, name), dig(projection, name), "name")
                yield from _keys((*where, name), dig(projection, name), is_pod)
        if dig(projection, "downwardAPI") is not None:
            yield from _downward((*where, "downwardAPI"), dig(projection, "downwardAPI"), is_pod)
        if dig(projection, "serviceAccountToken") is not None:
            yield from _token((*where, "serviceAccountToken"), dig(projection, "serviceAccountToken"))
        for name in ("secret", "configMap", "downwardAPI"):
            for row, item in items(dig(projection, name, "items")):
                target = text(dig(item, "path"))
                yield from repeated(
                    (*where, name, "items", row, "path"), target, paths, f"two files have the path {target}"
                )


def _token(path: Path, token: Any) -> Problems:
    yield from at_least((*path, "expirationSeconds"), dig(token, "expirationSeconds"), _TEN_MINUTES, 2**32)
    yield from _local_path((*path, "path"), dig(token, "path"))


def _ephemeral(path: Path, source: Any, _: bool) -> Problems:
    template = dig(source, "volumeClaimTemplate")
    where: Path = (*path, "volumeClaimTemplate")
    if template is None:
        yield missing(where)
        return
    for name in dig(template, "metadata") or {}:
        if name not in ("labels", "annotations"):
            yield Problem((*where, "metadata", name), "only labels and annotations are allowed")
    yield from labels_and_annotations((*where, "metadata"), dig(template, "metadata"))
    yield from volume_claim((*where, "spec"), dig(template, "spec"))


def volume_claim(path: Path, spec: Any) -> Problems:
    """Checks the spec of a PersistentVolumeClaim."""
    yield from unchecked(path, spec, "volume claim")
    modes = [mode for _, mode in items(dig(spec, "accessModes"))]
    if not modes:
        yield missing((*path, "accessModes"), f"expected for example [{_ACCESS_MODES[0]}]")
    for index, mode in enumerate(modes):
        yield from one_of((*path, "accessModes", index), mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and len(set(modes)) > 1:
        yield Problem((*path, "accessModes"), "ReadWriteOncePod allows no other access mode")
    storage = dig(spec, "resources", "requests", "storage")
    where: Path = (*path, "resources", "requests", "storage")
    if storage is None:
        yield missing(where)
    elif (size := quantity(storage)) is not None and size <= 0:
        yield invalid(where, storage, "more than 0")
    yield from label_selector((*path, "selector"), dig(spec, "selector"))
    yield from dns_subdomain((*path, "storageClassName"), dig(spec, "storageClassName"))
    yield from dns_subdomain((*path, "volumeAttributesClassName"), dig(spec, "volumeAttributesClassName"))
    yield from one_of((*path, "volumeMode"), dig(spec, "volumeMode"), ("Filesystem", "Block"))


SOURCES: dict[str, Callable[[Path, Any, bool], Problems]] = {
    "configMap": _keys,
    "csi": _csi,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "ephemeral": _ephemeral,
    "hostPath": _host_path,
    "image": _image,
    "nfs": _nfs,
    "persistentVolumeClaim": lambda *_: iter(()),
    "projected": _projected,
    "secret": _keys,
}
"""The checks of volume sources. The last argument is whether the object is a pod."""
