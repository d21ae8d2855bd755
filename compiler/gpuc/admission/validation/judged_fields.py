"""The fields that this package checks completely. Every other field of these structures is reported as not checked.

A field is also in a table if the API server accepts every value of the right type, and if the API server ignores it.
"""

from __future__ import annotations

from typing import Any, Final

from gpuc.admission.validation.problem import Problem, Problems
from gpuc.diagnostics.finding import Path

JUDGED: Final[dict[str, frozenset[str]]] = {
    "pod": frozenset((
        "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig", "dnsPolicy",
        "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC", "hostNetwork", "hostPID", "hostUsers",
        "hostname", "hostnameOverride", "imagePullSecrets", "initContainers", "nodeName", "nodeSelector", "os",
        "preemptionPolicy", "priority", "priorityClassName", "readinessGates", "resourceClaims", "resources",
        "restartPolicy", "runtimeClassName", "schedulerName", "schedulingGates", "securityContext", "serviceAccount",
        "serviceAccountName", "setHostnameAsFQDN", "shareProcessNamespace", "subdomain",
        "terminationGracePeriodSeconds", "tolerations", "topologySpreadConstraints", "volumes", "workloadRef",
    )),
    "container": frozenset((
        "args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "name", "ports",
        "readinessProbe", "resizePolicy", "resources", "restartPolicy", "restartPolicyRules", "securityContext",
        "startupProbe", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty",
        "volumeDevices", "volumeMounts", "workingDir",
    )),
    "pod security context": frozenset((
        "appArmorProfile", "fsGroup", "fsGroupChangePolicy", "runAsGroup", "runAsNonRoot", "runAsUser",
        "seLinuxChangePolicy", "seLinuxOptions", "seccompProfile", "supplementalGroups", "supplementalGroupsPolicy",
        "sysctls",
    )),
    "container security context": frozenset((
        "allowPrivilegeEscalation", "appArmorProfile", "capabilities", "privileged", "procMount",
        "readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot", "runAsUser", "seLinuxOptions", "seccompProfile",
    )),
    "lifecycle": frozenset(("postStart", "preStop")),
    "volume": frozenset((
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "hostPath", "image", "name", "nfs",
        "persistentVolumeClaim", "projected", "secret",
    )),
    "projected source": frozenset(("configMap", "downwardAPI", "secret", "serviceAccountToken")),
    "volume claim": frozenset((
        "accessModes", "resources", "selector", "storageClassName", "volumeAttributesClassName", "volumeMode",
        "volumeName",
    )),
}  # fmt: skip
"""Fields by structure. k8s.io/kubernetes v1.35.4 drops workloadRef, because its feature gate is off by default."""
UNCHECKED_ANNOTATIONS: Final = (
    "container.apparmor.security.beta.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/",
    "kubernetes.io/config.mirror", "scheduler.alpha.kubernetes.io/tolerations", "seccomp.security.alpha.kubernetes.io/",
)  # fmt: skip
"""The beginnings of annotations of pods whose values the API server checks, but this package does not."""


def unchecked(path: Path, value: Any, structure: str) -> Problems:
    """Yields a problem for every field of a structure that this package does not check.

    Args:
        structure: a key of `JUDGED`.
    """
    for name in value if isinstance(value, dict) else ():
        if name not in JUDGED[structure]:
            yield not_checked((*path, name))


def not_checked(path: Path, reason: str = "") -> Problem:
    """Returns the problem that gpuc does not check a field, so that the API server may refuse the object."""
    message = f"gpuc does not check the field {path[-1]}{f': {reason}' if reason else ''}"
    return Problem(path, message, is_unchecked=True)


def unchecked_annotations(path: Path, annotations: Any) -> Problems:
    """Yields a problem for every annotation of a pod that the API server checks and this package does not."""
    for key in annotations if isinstance(annotations, dict) else ():
        if str(key).startswith(UNCHECKED_ANNOTATIONS):
            yield not_checked((*path, key))
