"""Pod Security: the level that a namespace enforces, and the violations of a pod, by version of Kubernetes.

Source: k8s.io/pod-security-admission v0.35.4 admission/admission.go (ValidatePod, ValidatePodController, EvaluatePod),
api/helpers.go (PolicyToEvaluate), policy/registry.go. The default of the API server is privileged for all modes,
without exemptions (admission/api/v1/defaults.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from gpuc.admission import pod_security_baseline as baseline
from gpuc.admission import pod_security_restricted as restricted
from gpuc.admission.documents import PodPart, is_pod, namespace_of, pod_part
from gpuc.admission.pod_security_baseline import Violation
from gpuc.admission.request import Decision, Request
from gpuc.cluster.namespace import namespaces
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig

PREFIX: Final = "pod-security.kubernetes.io/"
LEVELS: Final = ("privileged", "baseline", "restricted")
_PRIVILEGED, _, _RESTRICTED = LEVELS
VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
"""The values of the labels enforce-version, warn-version and audit-version."""


class Level(NamedTuple):
    """A level of Pod Security, with the version of its checks."""

    name: str
    version: str
    """latest, or a version such as v1.35."""

    @property
    def minor(self) -> int:
        """The minor version of Kubernetes whose checks apply."""
        match = VERSION.fullmatch(self.version)
        return int(match[1]) if match and match[1] else NEWEST

    def violations(self, pod: PodPart) -> list[Violation]:
        """Returns the violations of a pod."""
        if self.name == _PRIVILEGED:
            return []
        return [violation for check in checks(self.name, self.minor, pod) for violation in check.run(pod)]


class Levels(NamedTuple):
    """The levels of a namespace."""

    enforce: Level
    """The level whose violations the API server denies."""
    warn: Level
    """The level for whose violations the API server returns a warning."""


def levels(labels: Mapping[str, str]) -> Levels:
    """Returns the levels of a namespace with labels. An invalid label enforces level restricted, and warns of nothing.

    Without a label for warnings, the API server warns of the level that it enforces.
    """
    enforced = labels.get(f"{PREFIX}enforce", _PRIVILEGED)
    is_valid = enforced in LEVELS
    enforce = Level(enforced if is_valid else _RESTRICTED, labels.get(f"{PREFIX}enforce-version", "latest"))
    warned = labels.get(f"{PREFIX}warn")
    version = labels.get(f"{PREFIX}warn-version")
    if warned is None and is_valid:
        return Levels(enforce, Level(enforce.name, version or enforce.version))
    return Levels(enforce, Level(warned if warned in LEVELS else _PRIVILEGED, version or "latest"))


def pod_security(objects: ObjectSet, request: Request) -> Iterator[Decision]:
    """Yields the decision of Pod Security about a Pod, or its warning about the pod template of a workload.

    The API server denies only Pods. It checks the templates of the built-in kinds for warnings, and no other kinds.
    """
    pod = pod_part(request.document)
    if pod is None or not isinstance(pod.spec, dict):
        return
    namespace = namespace_of(request.document)
    labels = namespaces(objects).known_labels(namespace)
    if labels is None:
        if is_pod(request.document):
            message = f"the labels of namespace {namespace} are unknown, so its level of Pod Security is unknown"
            yield Decision("unknown", "Pod Security", message)
        return
    enforce, warn = levels(labels)
    manifest = objects.find("", "Namespace", namespace)
    violations = enforce.violations(pod) if is_pod(request.document) else []
    if violations:
        yield _decision("denied", enforce, "enforce", namespace, manifest, violations)
    elif warned := warn.violations(pod):
        yield _decision("warned", warn, "warn", namespace, manifest, warned)
    elif is_pod(request.document):
        yield Decision("allowed", f"Pod Security {enforce.name}", "", manifest, _path("enforce", manifest))


def _decision(
    outcome: Literal["denied", "warned"],
    level: Level,
    mode: str,
    namespace: str,
    manifest: Manifest | None,
    violations: list[Violation],
) -> Decision:
    """Returns one decision with all violations."""
    verb = "enforces" if mode == "enforce" else "warns of"
    reasons = "; ".join(dict.fromkeys(violation.message for violation in violations))
    return Decision(
        outcome,
        f"Pod Security {level.name}",
        f"namespace {namespace} {verb} Pod Security {level.name} ({level.version}): {reasons}",
        manifest,
        _path(mode, manifest),
        violations[0].path,
        "; ".join(dict.fromkeys(violation.fix for violation in violations)),
    )


def _path(mode: str, manifest: Manifest | None) -> Path:
    key = f"{PREFIX}{mode}"
    labels = manifest.labels if manifest is not None else {}
    if mode == "warn" and key not in labels:
        key = f"{PREFIX}enforce"
    return ("metadata", "labels", key) if key in labels else ()


NEWEST: Final = 35
"""The minor version of Kubernetes whose checks this module has."""


class Check(NamedTuple):
    """A check, and the minor versions of Kubernetes in which the check exists."""

    run: Callable[[PodPart], Iterator[Violation]]
    is_baseline: bool
    """Whether the check belongs to level baseline. Level restricted has the check too, if no other one overrides it."""
    first: int = 0
    last: int = NEWEST
    overridden_from: int = NEWEST + 1
    """The first minor version in which a check of level restricted overrides the check in level restricted."""
    skips: Callable[[PodPart], bool] = lambda _: False
    """Whether the check leaves a pod out."""


def checks(level: str, minor: int, pod: PodPart) -> Iterator[Check]:
    """Yields the checks of a level for a pod, in the order of the API server.

    Args:
        level: baseline or restricted.
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
    Check(baseline.app_armor, True),
    Check(baseline.capabilities_baseline, True, overridden_from=22),
    Check(baseline.host_namespaces, True),
    Check(baseline.host_paths, True, overridden_from=0),
    Check(baseline.host_ports, True),
    Check(baseline.probe_hosts, True, first=34),
    Check(baseline.privileged, True),
    Check(baseline.proc_mount, True, last=34),
    Check(baseline.proc_mount, True, first=35, overridden_from=35, skips=_in_user_namespace),
    Check(baseline.se_linux(), True, last=30),
    Check(baseline.se_linux("container_engine_t"), True, first=31),
    Check(baseline.seccomp_annotations, True, last=18),
    Check(baseline.seccomp_baseline, True, first=19, overridden_from=19),
    Check(baseline.sysctls(0), True, last=26),
    Check(baseline.sysctls(27), True, first=27, last=28),
    Check(baseline.sysctls(29), True, first=29, last=31),
    Check(baseline.sysctls(32), True, first=32),
    Check(baseline.host_process, True),
    Check(restricted.privilege_escalation, False, first=8, last=24),
    Check(restricted.privilege_escalation, False, first=25, skips=_is_windows),
    Check(restricted.capabilities_restricted, False, first=22, last=24),
    Check(restricted.capabilities_restricted, False, first=25, skips=_is_windows),
    Check(baseline.proc_mount, False, first=35),
    Check(restricted.volume_types, False),
    Check(restricted.non_root, False, last=34),
    Check(restricted.non_root, False, first=35, skips=_in_user_namespace),
    Check(restricted.user_zero, False, first=23, last=34),
    Check(restricted.user_zero, False, first=35, skips=_in_user_namespace),
    Check(restricted.seccomp_restricted, False, first=19, last=24),
    Check(restricted.seccomp_restricted, False, first=25, skips=_is_windows),
)  # fmt: skip
"""All checks: first those of level baseline, then those of level restricted, each sorted by their id."""
