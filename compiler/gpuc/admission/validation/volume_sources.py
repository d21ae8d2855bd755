"""The sources of volumes.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validateVolumeSource,
validateProjectionSources, ValidatePersistentVolumeClaimSpec)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gpuc.admission.validation.environment import field_reference, resource_reference
from gpuc.admission.validation.judged_fields import unchecked
from gpuc.admission.validation.metadata import labels_and_annotations
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_subdomain,
    invalid,
    missing,
    number,
    one_of,
    text,
)
from gpuc.admission.validation.selectors import label_selector
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import dig, items

_MODE_MAX = 0o777
_TEN_MINUTES = 600
_HOST_PATH_TYPES = ("", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice")
_FIELDS = frozenset(("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"))
_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_DRIVER = re.compile(r"(?i)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


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


def _keys(path: Path, source: Any) -> Problems:
    """Checks defaultMode and the items of a ConfigMap or Secret."""
    yield from _mode((*path, "defaultMode"), dig(source, "defaultMode"))
    for index, item in items(dig(source, "items")):
        where: Path = (*path, "items", index)
        if not text(dig(item, "key")):
            yield missing((*where, "key"))
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


def _secret(path: Path, source: Any, _: bool) -> Problems:
    if not text(dig(source, "secretName")):
        yield missing((*path, "secretName"))
    yield from _keys(path, source)


def _config_map(path: Path, source: Any, _: bool) -> Problems:
    if not text(dig(source, "name")):
        yield missing((*path, "name"))
    yield from _keys(path, source)


def _claim(path: Path, source: Any, _: bool) -> Problems:
    if not text(dig(source, "claimName")):
        yield missing((*path, "claimName"))


def _nfs(path: Path, source: Any, _: bool) -> Problems:
    if not text(dig(source, "server")):
        yield missing((*path, "server"))
    if not text(dig(source, "path")).startswith("/"):
        yield invalid((*path, "path"), dig(source, "path"), "a path that begins with /")


def _csi(path: Path, source: Any, _: bool) -> Problems:
    driver, secret = text(dig(source, "driver")), dig(source, "nodePublishSecretRef")
    if not driver:
        yield missing((*path, "driver"))
    elif len(driver) > 63 or not _DRIVER.fullmatch(driver):
        yield invalid((*path, "driver"), driver, "at most 63 letters, digits, - and .")
    if secret is not None:
        if not text(dig(secret, "name")):
            yield missing((*path, "nodePublishSecretRef", "name"))
        yield from dns_subdomain((*path, "nodePublishSecretRef", "name"), dig(secret, "name"))


def _image(path: Path, source: Any, is_pod: bool) -> Problems:
    if is_pod and not text(dig(source, "reference")):
        yield missing((*path, "reference"))
    yield from one_of((*path, "pullPolicy"), dig(source, "pullPolicy"), PULL_POLICIES)


def _downward(path: Path, source: Any, _: bool) -> Problems:
    yield from _mode((*path, "defaultMode"), dig(source, "defaultMode"))
    for index, item in items(dig(source, "items")):
        where: Path = (*path, "items", index)
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
    for index, projection in items(dig(source, "sources")):
        where: Path = (*path, "sources", index)
        yield from unchecked(where, projection, "projected source")
        if isinstance(projection, dict) and len(projection) > 1:
            yield Problem(where, f"the source has {' and '.join(projection)}; only one is allowed")
        for name in ("secret", "configMap"):
            if dig(projection, name) is not None:
                yield from _config_map((*where, name), dig(projection, name), is_pod)
        if dig(projection, "downwardAPI") is not None:
            yield from _downward((*where, "downwardAPI"), dig(projection, "downwardAPI"), is_pod)
        if dig(projection, "serviceAccountToken") is not None:
            yield from _token((*where, "serviceAccountToken"), dig(projection, "serviceAccountToken"))
        for name in ("secret", "configMap", "downwardAPI"):
            for row, item in items(dig(projection, name, "items")):
                target = text(dig(item, "path"))
                if target and target in paths:
                    yield Problem((*where, name, "items", row, "path"), f"two files have the path {target}")
                paths.add(target)


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
    "configMap": _config_map,
    "csi": _csi,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "ephemeral": _ephemeral,
    "hostPath": _host_path,
    "image": _image,
    "nfs": _nfs,
    "persistentVolumeClaim": _claim,
    "projected": _projected,
    "secret": _secret,
}
"""The checks of volume sources. The last argument is whether the object is a pod."""
