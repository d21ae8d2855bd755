"""The checks of Pod Security level restricted. Each check yields the fields that the level forbids or requires.

Source: k8s.io/pod-security-admission v0.35.4 policy/check_*.go
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.admission.documents import PodPart, container_name
from gpuc.admission.pod_security_baseline import (
    Violation,
    added_capabilities,
    forbidden,
    seccomp_baseline,
    settings,
)
from gpuc.objects.object_set import dig, items, pairs


def privilege_escalation(pod: PodPart) -> Iterator[Violation]:
    """Yields containers without allowPrivilegeEscalation: false."""
    for path, container in pod.containers():
        if dig(container, "securityContext", "allowPrivilegeEscalation") is not False:
            owner, field = container_name(path, container), "securityContext.allowPrivilegeEscalation"
            yield Violation(
                f"{owner} needs {field}: false",
                (*path, "securityContext", "allowPrivilegeEscalation"),
                f"set {field} of {owner} to false",
            )


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
