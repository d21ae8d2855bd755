"""Security contexts of pods and containers.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidateSecurityContext,
validatePodSpecSecurityContext)
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.problem import (
    INT32_MAX,
    Problem,
    Problems,
    at_least,
    invalid,
    missing,
    one_of,
    rows,
    text,
    unchecked,
)
from gpuc.admission.validation.volumes import has_back_steps
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_APP_ARMOR_LONGEST = 4095
_SYSCTL = re.compile(r"(?:[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?")
_IPC_SYSCTLS = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")


def container_security(path: Path, context: Any, has_host_users: bool) -> Problems:
    """Checks the security context of a container.

    Args:
        has_host_users: whether the pod uses the user namespace of the host, which is the default.
    """
    yield from unchecked(path, context, "container security context")
    for name in ("runAsUser", "runAsGroup"):
        yield from at_least((*path, name), dig(context, name), 0, INT32_MAX)
    proc_mount = dig(context, "procMount")
    yield from one_of((*path, "procMount"), proc_mount, ("Default", "Unmasked"))
    if proc_mount == "Unmasked" and has_host_users:
        yield Problem((*path, "procMount"), "Unmasked needs hostUsers: false in the pod")
    yield from _profiles(path, context)
    if dig(context, "allowPrivilegeEscalation") is False:
        if dig(context, "privileged") is True:
            message = "allowPrivilegeEscalation is false and privileged is true"
            yield Problem((*path, "allowPrivilegeEscalation"), message, "remove privileged: true")
        for where, capability in rows(path, context, "capabilities", "add"):
            if capability == "CAP_SYS_ADMIN":
                message = "allowPrivilegeEscalation is false and the container adds CAP_SYS_ADMIN"
                yield Problem(where, message)


def pod_security_context(path: Path, spec: Any) -> Problems:
    """Checks the security context of a pod. `path` is the path of the pod's spec."""
    context, where = dig(spec, "securityContext"), (*path, "securityContext")
    yield from unchecked(where, context, "pod security context")
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from at_least((*where, name), dig(context, name), 0, INT32_MAX)
    for group_path, group in rows(where, context, "supplementalGroups"):
        yield from at_least(group_path, group, 0, INT32_MAX)
    for name, allowed in (
        ("fsGroupChangePolicy", ("OnRootMismatch", "Always")),
        ("supplementalGroupsPolicy", ("Merge", "Strict")),
        ("seLinuxChangePolicy", ("Recursive", "MountOption")),
    ):
        yield from one_of((*where, name), dig(context, name), allowed)
    if dig(spec, "shareProcessNamespace") is True and dig(spec, "hostPID") is True:
        yield Problem((*path, "shareProcessNamespace"), "shareProcessNamespace and hostPID are both true")
    yield from _sysctls(where, spec, context)
    yield from _profiles(where, context)


def _sysctls(path: Path, spec: Any, context: Any) -> Problems:
    names: set[str] = set()
    for sysctl_path, row in rows(path, context, "sysctls"):
        where, name = (*sysctl_path, "name"), text(dig(row, "name"))
        if not name:
            yield missing(where)
        elif len(name) > 253 or not _SYSCTL.fullmatch(name):
            yield invalid(where, name, "the name of a sysctl such as net.core.somaxconn")
        elif name in names:
            yield Problem(where, f"two items set the sysctl {name}")
        names.add(name)
        dotted = name.replace("/", ".") if "/" in name else name
        if dig(spec, "hostNetwork") is True and dotted.startswith("net."):
            yield Problem(where, f"a pod with hostNetwork cannot set the sysctl {name}")
        if dig(spec, "hostIPC") is True and dotted.startswith(_IPC_SYSCTLS):
            yield Problem(where, f"a pod with hostIPC cannot set the sysctl {name}")


def _profiles(path: Path, context: Any) -> Problems:
    """Checks the seccomp and AppArmor profiles of a pod or container."""
    for name in ("seccompProfile", "appArmorProfile"):
        profile = dig(context, name)
        if profile is None:
            continue
        where, kind, local = (*path, name), text(dig(profile, "type")), dig(profile, "localhostProfile")
        if not kind:
            yield missing((*where, "type"))
        yield from one_of((*where, "type"), kind or None, _PROFILES)
        if kind != "Localhost":
            if local is not None:
                yield Problem((*where, "localhostProfile"), f"localhostProfile needs type Localhost, not {kind}")
        elif local is None:
            yield missing((*where, "localhostProfile"))
        elif name == "seccompProfile" and (text(local).startswith("/") or has_back_steps(text(local))):
            yield invalid((*where, "localhostProfile"), local, "a relative path without ..")
        elif name == "appArmorProfile" and (
            not text(local).strip() or local != local.strip() or len(local) > _APP_ARMOR_LONGEST
        ):
            yield invalid((*where, "localhostProfile"), local, f"1 to {_APP_ARMOR_LONGEST} characters without spaces")
