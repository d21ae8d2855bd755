"""The checks of Pod Security level baseline. Each check yields the fields of a pod that the level forbids.

Source: k8s.io/pod-security-admission v0.35.4 policy/check_*.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from gpuc.admission.documents import PodPart, container_name
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, pairs


class Violation(NamedTuple):
    """A field of a pod that a check forbids or requires."""

    message: str
    path: Path
    fix: str


def settings(pod: PodPart, *field: str) -> Iterator[tuple[str, Path, Any]]:
    """Yields the owner in words, the path and the value of a securityContext field of the pod and its containers."""
    steps = ("securityContext", *field)
    if (value := dig(pod.spec, *steps)) is not None:
        yield "the pod", (*pod.path, "spec", *steps), value
    yield from container_settings(pod, *field)


def container_settings(pod: PodPart, *field: str) -> Iterator[tuple[str, Path, Any]]:
    """Yields the same as `settings`, without the securityContext of the pod."""
    steps = ("securityContext", *field)
    for path, container in pod.containers():
        if (value := dig(container, *steps)) is not None:
            yield container_name(path, container), (*path, *steps), value


def forbidden(owner: str, path: Path, value: Any, fix: str = "") -> Violation:
    """Returns the violation of a securityContext field that has a forbidden value."""
    text = str(value).lower() if isinstance(value, bool) else value
    field = ".".join(str(step) for step in path if not isinstance(step, int))
    field = field[field.rfind("securityContext") :] if "securityContext" in field else str(path[-1])
    return Violation(f"{owner} sets {field} to {text}", path, fix or f"remove {field} from {owner}")


_APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"


def app_armor(pod: PodPart) -> Iterator[Violation]:
    """Yields AppArmor profiles other than RuntimeDefault and Localhost."""
    for owner, path, value in settings(pod, "appArmorProfile", "type"):
        if value not in ("RuntimeDefault", "Localhost"):
            yield forbidden(owner, path, value)
    for key, value in pairs(dig(pod.metadata, "annotations")):
        is_allowed = value in ("", "runtime/default") or str(value).startswith("localhost/")
        if str(key).startswith(_APP_ARMOR_ANNOTATION) and not is_allowed:
            path = (*pod.path, "metadata", "annotations", key)
            yield Violation(f"annotation {key} is {value}", path, f"remove annotation {key}")


_BASELINE_CAPABILITIES = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
)  # fmt: skip


def added_capabilities(pod: PodPart, allowed: tuple[str, ...]) -> Iterator[Violation]:
    """Yields added capabilities that are not allowed."""
    for owner, path, names in container_settings(pod, "capabilities", "add"):
        for number, name in items(names):
            if name not in allowed:
                fix = f"remove {name} from securityContext.capabilities.add of {owner}"
                yield Violation(f"{owner} adds the capability {name}", (*path, number), fix)


def capabilities_baseline(pod: PodPart) -> Iterator[Violation]:
    """Yields added capabilities that containers do not have by default."""
    return added_capabilities(pod, _BASELINE_CAPABILITIES)


def host_namespaces(pod: PodPart) -> Iterator[Violation]:
    """Yields the host namespaces of the pod."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if dig(pod.spec, field) is True:
            yield Violation(f"the pod sets {field}: true", (*pod.path, "spec", field), f"remove {field}")


def host_paths(pod: PodPart) -> Iterator[Violation]:
    """Yields the hostPath volumes."""
    for number, volume in items(dig(pod.spec, "volumes")):
        if dig(volume, "hostPath") is not None:
            name, path = dig(volume, "name"), (*pod.path, "spec", "volumes", number, "hostPath")
            yield Violation(f"volume {name} is a hostPath", path, f"remove volume {name}")


def host_ports(pod: PodPart) -> Iterator[Violation]:
    """Yields the host ports."""
    for path, container in pod.containers():
        for number, port in items(dig(container, "ports")):
            if dig(port, "hostPort"):
                owner = container_name(path, container)
                field = (*path, "ports", number, "hostPort")
                yield Violation(f"{owner} uses hostPort {port['hostPort']}", field, f"remove hostPort of {owner}")


_PROBES = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


def probe_hosts(pod: PodPart) -> Iterator[Violation]:
    """Yields the hosts of probes and lifecycle handlers."""
    for path, container in pod.containers():
        for probe in _PROBES:
            for handler in ("httpGet", "tcpSocket"):
                if host := dig(container, *probe, handler, "host"):
                    owner, field = container_name(path, container), ".".join((*probe, handler, "host"))
                    message = f"{owner} sets {field} to {host}"
                    yield Violation(message, (*path, *probe, handler, "host"), f"remove {field} of {owner}")


def privileged(pod: PodPart) -> Iterator[Violation]:
    """Yields privileged containers."""
    for owner, path, value in container_settings(pod, "privileged"):
        if value is True:
            yield forbidden(owner, path, value)


def proc_mount(pod: PodPart) -> Iterator[Violation]:
    """Yields the values of procMount other than Default."""
    for owner, path, value in container_settings(pod, "procMount"):
        if value != "Default":
            yield forbidden(owner, path, value)


_SE_LINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")


def se_linux(*more: str) -> Callable[[PodPart], Iterator[Violation]]:
    """Returns the check of SELinux types, users and roles, with more allowed types."""
    allowed = {"type": (*_SE_LINUX_TYPES, *more), "user": ("",), "role": ("",)}

    def run(pod: PodPart) -> Iterator[Violation]:
        for owner, path, options in settings(pod, "seLinuxOptions"):
            for field, values in allowed.items():
                value = dig(options, field)
                if value is not None and value not in values:
                    yield forbidden(owner, (*path, field), value)

    return run


_SECCOMP = ("RuntimeDefault", "Localhost")
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


def seccomp_annotations(pod: PodPart) -> Iterator[Violation]:
    """Yields the annotations with seccomp profiles that are not allowed up to 1.18."""
    names = [str(dig(container, "name")) for _, container in pod.containers()]
    for key in (_SECCOMP_POD, *(f"{_SECCOMP_CONTAINER}{name}" for name in names)):
        value = dig(pod.metadata, "annotations", key)
        is_allowed = value in ("runtime/default", "docker/default") or str(value).startswith("localhost/")
        if value is not None and not is_allowed:
            path = (*pod.path, "metadata", "annotations", key)
            yield Violation(f"annotation {key} is {value}", path, f"remove annotation {key}")


def seccomp_baseline(pod: PodPart) -> Iterator[Violation]:
    """Yields seccomp profiles other than RuntimeDefault and Localhost."""
    for owner, path, profile in settings(pod, "seccompProfile"):
        if (value := dig(profile, "type")) not in _SECCOMP:
            yield forbidden(owner, (*path, "type"), value, f"set seccompProfile.type of {owner} to RuntimeDefault")


_SYSCTLS = {
    0: "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start",
    27: "net.ipv4.ip_local_reserved_ports",
    29: "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl "
    "net.ipv4.tcp_keepalive_probes",
    32: "net.ipv4.tcp_rmem net.ipv4.tcp_wmem",
}
"""The allowed sysctls by the minor version of Kubernetes that first allows them."""


def sysctls(minor: int) -> Callable[[PodPart], Iterator[Violation]]:
    """Returns the check with the sysctls that a minor version of Kubernetes allows."""
    allowed = [name for first, names in _SYSCTLS.items() if first <= minor for name in names.split()]

    def run(pod: PodPart) -> Iterator[Violation]:
        for number, sysctl in items(dig(pod.spec, "securityContext", "sysctls")):
            if (name := dig(sysctl, "name")) not in allowed:
                path = (*pod.path, "spec", "securityContext", "sysctls", number, "name")
                yield Violation(f"the pod sets the sysctl {name}", path, f"remove the sysctl {name}")

    return run


def host_process(pod: PodPart) -> Iterator[Violation]:
    """Yields Windows HostProcess containers."""
    for owner, path, value in settings(pod, "windowsOptions", "hostProcess"):
        if value is True:
            yield forbidden(owner, path, value)
