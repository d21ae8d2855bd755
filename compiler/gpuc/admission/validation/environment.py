"""Environment variables of containers.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom),
pkg/apis/core/pods/helpers.go (ConvertDownwardAPIFieldLabel)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    config_key,
    dns_subdomain,
    environment_name,
    invalid,
    label_key,
    missing,
    not_checked,
    required,
    rows,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import dig

ENVIRONMENT_FIELDS = frozenset((
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.host", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
))  # fmt: skip
"""The fields of a pod that an environment variable can contain."""
_RESOURCES = tuple(
    f"{field}.{name}" for field in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = frozenset(quantity(value) for value in ("1m", "1"))
_DIVISORS = frozenset(
    quantity(f"1{suffix}") for suffix in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
)
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]")


def environment(path: Path, container: Any) -> Problems:
    """Checks env and envFrom of a container."""
    for where, variable in rows(path, container, "env"):
        yield from environment_name((*where, "name"), dig(variable, "name"))
        if dig(variable, "valueFrom") is not None:
            yield from _value_from((*where, "valueFrom"), dig(variable, "valueFrom"), text(dig(variable, "value")))
    for where, source in rows(path, container, "envFrom"):
        yield from _env_from(where, source)


def _value_from(path: Path, source: Any, value: str) -> Problems:
    present = [name for name in _SOURCES if dig(source, name) is not None]
    if not present:
        yield Problem(path, f"valueFrom needs one of {', '.join(_SOURCES)}")
    elif value:
        yield Problem(path, "value and valueFrom are both set", "remove value or valueFrom")
    elif len(present) > 1:
        yield Problem(path, f"valueFrom has {' and '.join(present)}; only one is allowed")
    for name in present:
        yield from _SOURCES[name]((*path, name), dig(source, name))


def field_reference(path: Path, reference: Any, allowed: frozenset[str]) -> Problems:
    """Checks the name of a field of the pod, as in fieldRef.

    Args:
        allowed: the names of fields. The labels and annotations of the pod are allowed with a key in brackets.
    """
    version, field = dig(reference, "apiVersion"), text(dig(reference, "fieldPath"))
    if version not in (None, "", "v1"):
        yield invalid((*path, "apiVersion"), version, "v1")
    if not field:
        yield missing((*path, "fieldPath"))
        return
    subscript = _SUBSCRIPT.fullmatch(field)
    if subscript is None:
        if field not in allowed:
            yield invalid((*path, "fieldPath"), field, " or ".join(sorted(allowed)))
        return
    base, key = subscript.groups()
    if base not in ("metadata.labels", "metadata.annotations"):
        yield invalid(
            (*path, "fieldPath"), field, "a key in brackets only after metadata.labels or metadata.annotations"
        )
    else:
        yield from label_key((*path, "fieldPath"), key.lower() if base == "metadata.annotations" else key)


def resource_reference(path: Path, reference: Any, *, is_volume: bool = False) -> Problems:
    """Checks the name of a resource of a container, as in resourceFieldRef."""
    resource = text(dig(reference, "resource"))
    if is_volume and not text(dig(reference, "containerName")):
        yield missing((*path, "containerName"))
    elif not resource:
        yield missing((*path, "resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield invalid((*path, "resource"), resource, f"{' or '.join(_RESOURCES)}, or limits.hugepages-2Mi")
    divisor = quantity(dig(reference, "divisor"))
    allowed = _CPU_DIVISORS if resource.endswith(".cpu") else _DIVISORS
    if divisor and divisor not in allowed:
        expected = "1 or 1m" if resource.endswith(".cpu") else "1 with a unit such as 1Mi"
        yield invalid((*path, "divisor"), dig(reference, "divisor"), expected)


def _key(path: Path, reference: Any) -> Problems:
    yield from required(path, reference, "name")
    yield from dns_subdomain((*path, "name"), dig(reference, "name"))
    yield from config_key((*path, "key"), dig(reference, "key"))


def _file(path: Path, _: Any) -> Problems:
    yield not_checked(path)


def _env_from(path: Path, source: Any) -> Problems:
    if text(dig(source, "prefix")):
        yield from environment_name((*path, "prefix"), dig(source, "prefix"))
    present = [name for name in ("configMapRef", "secretRef") if dig(source, name) is not None]
    if len(present) != 1:
        found = "both" if present else "neither"
        yield Problem(path, f"envFrom needs one of configMapRef and secretRef, and has {found}")
    for name in present:
        reference = dig(source, name)
        yield from required((*path, name), reference, "name")
        masked = text(dig(reference, "name")).removesuffix("-")
        yield from dns_subdomain((*path, name, "name"), masked)


_SOURCES: dict[str, Callable[[Path, Any], Problems]] = {
    "fieldRef": lambda path, value: field_reference(path, value, ENVIRONMENT_FIELDS),
    "resourceFieldRef": resource_reference,
    "configMapKeyRef": _key,
    "secretKeyRef": _key,
    "fileKeyRef": _file,
}
