"""The checks of the Pod Security levels baseline and restricted. Each check yields the fields that the levels forbid.

Source: k8s.io/pod-security-admission v0.35.4 policy/check_*.go and policy/registry.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

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
    ("livenessProbe",), ("readinessProbe",), ("startupProbe",), ("lifecycle", "postStart"), ("lifecycle", "preStop"),
)  # fmt: skip


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


def privilege_escalation(pod: PodPart) -> Iterator[Violation]:
    """Yields containers without allowPrivilegeEscalation: false."""
    for path, container in pod.containers():
        if dig(container, "securityContext", "allowPrivilegeEscalation") is not False:
            owner, steps = container_name(path, container), ("securityContext", "allowPrivilegeEscalation")
            field = ".".join(steps)
            yield Violation(f"{owner} needs {field}: false", (*path, *steps), f"set {field} of {owner} to false")


def capabilities_restricted(pod: PodPart) -> Iterator[Violation]:
    """Yields containers that do not drop all capabilities, and added ones but NET_BIND_SERVICE."""
    for path, container in pod.containers():
        dropped = [name for _, name in items(dig(container, "securityContext", "capabilities", "drop"))]
        if "ALL" not in dropped:
            owner, field = container_name(path, container), "securityContext.capabilities.drop"
            field_path = (*path, "securityContext", "capabilities", "drop")
            yield Violation(f"{owner} does not drop all capabilities", field_path, f"set {field} of {owner} to [ALL]")
    yield from added_capabilities(pod, ("NET_BIND_SERVICE",))


_RESTRICTED_VOLUMES = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
)  # fmt: skip


def volume_types(pod: PodPart) -> Iterator[Violation]:
    """Yields volumes of types that are not allowed."""
    for number, volume in items(dig(pod.spec, "volumes")):
        sources = [field for field, value in pairs(volume) if field != "name" and value is not None]
        # The API server sets emptyDir for a volume without a source.
        if sources and not set(sources) & set(_RESTRICTED_VOLUMES):
            name, path = dig(volume, "name"), (*pod.path, "spec", "volumes", number, sources[0])
            yield Violation(f"volume {name} is a {sources[0]}", path, f"use another type for volume {name}")


def non_root(pod: PodPart) -> Iterator[Violation]:
    """Yields runAsNonRoot: false, and containers without runAsNonRoot: true."""
    explicit = [
        forbidden(owner, path, value, f"set securityContext.runAsNonRoot of {owner} to true")
        for owner, path, value in settings(pod, "runAsNonRoot")
        if value is False
    ]
    yield from explicit
    if explicit or dig(pod.spec, "securityContext", "runAsNonRoot") is True:
        return
    for path, container in pod.containers():
        if dig(container, "securityContext", "runAsNonRoot") is None:
            message = f"the pod or {container_name(path, container)} needs securityContext.runAsNonRoot: true"
            pod_path = (*pod.path, "spec", "securityContext", "runAsNonRoot")
            yield Violation(message, pod_path, "set securityContext.runAsNonRoot of the pod to true")


def user_zero(pod: PodPart) -> Iterator[Violation]:
    """Yields the values of runAsUser that are 0."""
    for owner, path, value in settings(pod, "runAsUser"):
        if value == 0 and not isinstance(value, bool):
            yield forbidden(owner, path, value)


def seccomp_restricted(pod: PodPart) -> Iterator[Violation]:
    """Yields forbidden seccomp profiles, and containers without a profile."""
    explicit = list(seccomp_baseline(pod))
    yield from explicit
    if explicit or dig(pod.spec, "securityContext", "seccompProfile") is not None:
        return
    for path, container in pod.containers():
        if dig(container, "securityContext", "seccompProfile") is None:
            owner = container_name(path, container)
            message = f"the pod or {owner} needs securityContext.seccompProfile.type RuntimeDefault or Localhost"
            pod_path = (*pod.path, "spec", "securityContext", "seccompProfile", "type")
            yield Violation(message, pod_path, "set securityContext.seccompProfile.type of the pod to RuntimeDefault")


NEWEST: Final = 35
"""The minor version of Kubernetes whose checks this module has."""


class Check(NamedTuple):
    """A check, and the minor versions of Kubernetes in which the check exists."""

    run: Callable[[PodPart], Iterator[Violation]]
    is_baseline: bool
    """Whether the check belongs to level  Level restricted has the check too, if no other one overrides it."""
    first: int = 0
    last: int = NEWEST
    overridden_from: int = NEWEST + 1
    """The first minor version in which a check of level restricted overrides the check in level """
    skips: Callable[[PodPart], bool] = lambda _: False
    """Whether the check leaves a pod out."""


def checks(level: str, minor: int, pod: PodPart) -> Iterator[Check]:
    """Yields the checks of a level for a pod, in the order of the API server.

    Args:
        level: baseline or
        minor: the minor version of Kubernetes whose checks apply; a newer version has the checks of the newest one.
    """
    minor = min(minor, NEWEST)
    for check in _CHECKS:
        if not check.first <= minor <= check.last or check.skips(pod):
            continue
        is_overridden = minor >= check.overridden_from
        if (check.is_baseline and level == "baseline") or (level == "restricted" and not is_overridden):
            yield check


def _is_windows(pod: PodPart) -> bool:
    return bool(dig(pod.spec, "os", "name") == "windows")


def _in_user_namespace(pod: PodPart) -> bool:
    """Returns whether the pod runs in a user namespace, for which Kubernetes 1.35 relaxes checks (helpers.go)."""
    return dig(pod.spec, "hostUsers") is False


_CHECKS = (
    Check(app_armor, True),
    Check(capabilities_baseline, True, overridden_from=22),
    Check(host_namespaces, True),
    Check(host_paths, True, overridden_from=0),
    Check(host_ports, True),
    Check(probe_hosts, True, first=34),
    Check(privileged, True),
    Check(proc_mount, True, last=34),
    Check(proc_mount, True, first=35, overridden_from=35, skips=_in_user_namespace),
    Check(se_linux(), True, last=30),
    Check(se_linux("container_engine_t"), True, first=31),
    Check(seccomp_annotations, True, last=18),
    Check(seccomp_baseline, True, first=19, overridden_from=19),
    Check(sysctls(0), True, last=26),
    Check(sysctls(27), True, first=27, last=28),
    Check(sysctls(29), True, first=29, last=31),
    Check(sysctls(32), True, first=32),
    Check(host_process, True),
    Check(privilege_escalation, False, first=8, last=24),
    Check(privilege_escalation, False, first=25, skips=_is_windows),
    Check(capabilities_restricted, False, first=22, last=24),
    Check(capabilities_restricted, False, first=25, skips=_is_windows),
    Check(proc_mount, False, first=35),
    Check(volume_types, False),
    Check(non_root, False, last=34),
    Check(non_root, False, first=35, skips=_in_user_namespace),
    Check(user_zero, False, first=23, last=34),
    Check(user_zero, False, first=35, skips=_in_user_namespace),
    Check(seccomp_restricted, False, first=19, last=24),
    Check(seccomp_restricted, False, first=25, skips=_is_windows),
)  # fmt: skip
"""All checks: first those of level baseline, then those of level restricted, each sorted by their id."""
