"""The checks of the Pod Security levels baseline and restricted. Most checks are in the table pod_security.rows.

Source: k8s.io/pod-security-admission v0.35.4 policy/check_*.go and policy/registry.go
"""

import pathlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from gpuc.admission.documents import PodPart
from gpuc.admission.validation.field import Field, Problem, Problems
from gpuc.admission.validation.table import Tables
from gpuc.objects.object_set import dig

Run = Callable[[PodPart], Iterable[Problem]]
NEWEST: Final = 35
"""The minor version of Kubernetes whose checks this module has."""
_PROBES = (
    ("livenessProbe",), ("readinessProbe",), ("startupProbe",), ("lifecycle", "postStart"), ("lifecycle", "preStop"),
)  # fmt: skip
_SYSCTLS = {
    0: "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range "
    "net.ipv4.ip_unprivileged_port_start",
    27: "net.ipv4.ip_local_reserved_ports",
    29: "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl "
    "net.ipv4.tcp_keepalive_probes",
    32: "net.ipv4.tcp_rmem net.ipv4.tcp_wmem",
}
"""The allowed sysctls by the minor version of Kubernetes that first allows them."""
_RESTRICTED_VOLUMES = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
)  # fmt: skip


def _containers(pod: PodPart) -> Iterator[Field]:
    return (Field(path, container) for path, container in pod.containers())


def _pod(pod: PodPart) -> Field:
    return Field((*pod.path, "spec"), pod.spec)


def _of_pod(table: str) -> Run:
    return lambda pod: _TABLES.problems(table, _pod(pod))


def _of_containers(table: str) -> Run:
    return lambda pod: (problem for container in _containers(pod) for problem in _TABLES.problems(table, container))


def _of_both(table: str) -> Run:
    return lambda pod: (*_of_pod(table)(pod), *_of_containers(table)(pod))


def _annotations(pod: PodPart, prefixes: tuple[str, ...], allowed: tuple[str, ...]) -> Problems:
    """Yields the annotations with profiles that are neither allowed nor local."""
    for key, field in Field((*pod.path, "metadata"), pod.metadata).entries("annotations"):
        if (
            str(key).startswith(prefixes)
            and field.value not in allowed
            and not str(field.value).startswith("localhost/")
        ):
            yield field.problem(f"annotation {key} is {field.value}", f"remove annotation {key}")


def _app_armor(pod: PodPart) -> Problems:
    yield from _of_both("appArmorProfile")(pod)
    prefix = "container.apparmor.security.beta.kubernetes.io/"
    yield from _annotations(pod, (prefix,), ("", "runtime/default"))


def _seccomp_annotations(pod: PodPart) -> Problems:
    """Yields the annotations with seccomp profiles that are not allowed. They count up to Kubernetes 1.18."""
    prefix = "seccomp.security.alpha.kubernetes.io/"
    names = [f"container.{prefix}{container.get('name')}" for container in _containers(pod)]
    yield from _annotations(pod, (f"{prefix}pod", *names), ("runtime/default", "docker/default"))


def _host_of_probe(container: Field) -> Problems:
    for field in (container.at(*probe, handler, "host") for probe in _PROBES for handler in ("httpGet", "tcpSocket")):
        if field.value:
            path = ".".join(map(str, field.path[len(container.path) :]))
            message = f"{container.holder} sets {path} to {field.value}"
            yield field.problem(message, f"remove {path} of {container.holder}")


def _sysctls(minor: int) -> Run:
    allowed = [name for first, names in _SYSCTLS.items() if first <= minor for name in names.split()]

    def run(pod: PodPart) -> Problems:
        for field in (row.at("name") for row in _pod(pod).rows("securityContext", "sysctls")):
            if field.value not in allowed:
                yield field.problem(f"the pod sets the sysctl {field.value}", f"remove the sysctl {field.value}")

    return run


def _drop_all(container: Field) -> Problems:
    field = container.at("securityContext", "capabilities", "drop")
    if "ALL" not in [row.value for row in field.rows()]:
        fix = f"set securityContext.capabilities.drop of {container.holder} to [ALL]"
        yield field.problem(f"{container.holder} does not drop all capabilities", fix)


def _volume_type(volume: Field) -> Problems:
    """Checks the source of a volume. The API server sets emptyDir for a volume without a source."""
    sources = [name for name, field in volume.entries() if name != "name" and field.value is not None]
    if sources and not set(sources) & set(_RESTRICTED_VOLUMES):
        name = volume.get("name")
        yield volume.at(sources[0]).problem(f"volume {name} is a {sources[0]}", f"use another type for volume {name}")


def _capabilities_restricted(pod: PodPart) -> Problems:
    yield from _of_containers("capabilities that are not dropped")(pod)
    yield from _of_containers("capabilities_restricted")(pod)


def _every_container(table: str, name: str, expected: str, value: str) -> Run:
    """Returns the check of a field that either the pod or each of its containers needs.

    Args:
        table: the table that finds wrong values.
        name: the path of the field in a securityContext.
        expected: the field with its values in the message.
        value: the value of the fix.
    """
    steps = name.split(".")

    def run(pod: PodPart) -> Problems:
        wrong = list(_of_both(table)(pod))
        yield from wrong
        field = _pod(pod).at("securityContext", *steps)
        if wrong or dig(pod.spec, "securityContext", steps[0]) not in (None, False):
            return
        for container in _containers(pod):
            if container.get("securityContext", steps[0]) is None:
                message = f"the pod or {container.holder} needs securityContext.{expected}"
                yield field.problem(message, f"set securityContext.{name} of the pod to {value}")

    return run


_TABLES = Tables(
    [pathlib.Path(__file__).parent / "pod_security.rows"],
    {"host of probe": _host_of_probe, "drop all": _drop_all, "volume type": _volume_type},
)


class Check(Struct, frozen=True):
    """One check of a Pod Security level, with the minor versions of Kubernetes that have the check."""

    run: Run
    is_baseline: bool
    """Whether the check belongs to level baseline. Level restricted has it too, unless another check overrides it."""
    first: int = 0
    last: int = NEWEST
    overridden_from: int = NEWEST + 1
    """The first minor version in which a check of level restricted overrides the check of level baseline."""
    skips: Callable[[PodPart], bool] = lambda _: False
    """Whether the check leaves a pod out."""


def checks(level: str, minor: int, pod: PodPart) -> Iterator[Check]:
    """Yields the checks of a Pod Security level, in the order of the API server.

    Args:
        level: baseline or restricted.
        minor: the minor version of Kubernetes; for a version newer than all that gpuc knows, the newest checks.
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
    """Returns whether the pod runs in a user namespace. Kubernetes 1.35 relaxes checks for such pods (helpers.go)."""
    return dig(pod.spec, "hostUsers") is False


_NON_ROOT = _every_container("runAsNonRoot", "runAsNonRoot", "runAsNonRoot: true", "true")
_SECCOMP_RESTRICTED = _every_container(
    "seccompProfile", "seccompProfile.type", "seccompProfile.type RuntimeDefault or Localhost", "RuntimeDefault"
)
_CHECKS = (
    Check(_app_armor, True),
    Check(_of_containers("capabilities_baseline"), True, overridden_from=22),
    Check(_of_pod("hostNamespaces"), True),
    Check(_of_pod("hostPathVolumes"), True, overridden_from=0),
    Check(_of_containers("hostPorts"), True),
    Check(_of_containers("hostProbesAndHostLifecycle"), True, first=34),
    Check(_of_containers("privileged"), True),
    Check(_of_containers("procMount"), True, last=34),
    Check(_of_containers("procMount"), True, first=35, overridden_from=35, skips=_in_user_namespace),
    Check(_of_both("seLinuxOptions"), True, last=30),
    Check(_of_both("seLinuxOptions with engines"), True, first=31),
    Check(_seccomp_annotations, True, last=18),
    Check(_of_both("seccompProfile"), True, first=19, overridden_from=19),
    Check(_sysctls(0), True, last=26),
    Check(_sysctls(27), True, first=27, last=28),
    Check(_sysctls(29), True, first=29, last=31),
    Check(_sysctls(32), True, first=32),
    Check(_of_both("windowsHostProcess"), True),
    Check(_of_containers("allowPrivilegeEscalation"), False, first=8, last=24),
    Check(_of_containers("allowPrivilegeEscalation"), False, first=25, skips=_is_windows),
    Check(_capabilities_restricted, False, first=22, last=24),
    Check(_capabilities_restricted, False, first=25, skips=_is_windows),
    Check(_of_containers("procMount"), False, first=35),
    Check(_of_pod("restrictedVolumes"), False),
    Check(_NON_ROOT, False, last=34),
    Check(_NON_ROOT, False, first=35, skips=_in_user_namespace),
    Check(_of_both("runAsUser"), False, first=23, last=34),
    Check(_of_both("runAsUser"), False, first=35, skips=_in_user_namespace),
    Check(_SECCOMP_RESTRICTED, False, first=19, last=24),
    Check(_SECCOMP_RESTRICTED, False, first=25, skips=_is_windows),
)  # fmt: skip
"""All checks: first those of level baseline, then those of level restricted, each sorted by their id."""
