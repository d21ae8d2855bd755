"""Pod Security: the level that a namespace enforces, and the fields of a pod that violate the level.

Source: k8s.io/pod-security-admission v0.35.4 admission/admission.go (ValidatePod, ValidatePodController, EvaluatePod),
api/helpers.go (PolicyToEvaluate), policy/registry.go. The default of the API server is privileged for all modes,
without exemptions (admission/api/v1/defaults.go).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from gpuc.admission.documents import PodPart, is_pod, namespace_of, pod_part
from gpuc.admission.pod_security_checks import NEWEST, checks
from gpuc.admission.request import Decision, Request
from gpuc.admission.validation.field import Problem
from gpuc.cluster.namespace import namespaces
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet

PREFIX: Final = "pod-security.kubernetes.io/"
LEVELS: Final = ("privileged", "baseline", "restricted")
_PRIVILEGED, _, _RESTRICTED = LEVELS
VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)")
"""The values of the labels enforce-version, warn-version and audit-version."""


class Level(NamedTuple):
    """A level of Pod Security, for example restricted, with the version of Kubernetes whose checks apply."""

    name: str
    version: str
    """latest, or a version such as v1.35."""

    def violations(self, pod: PodPart) -> list[Problem]:
        """Returns a problem, with a path and a message, for each field of a pod that violates the level."""
        if self.name == _PRIVILEGED:
            return []
        match = VERSION.fullmatch(self.version)
        minor = int(match[1]) if match and match[1] else NEWEST
        return [violation for check in checks(self.name, minor, pod) for violation in check.run(pod)]


class Levels(NamedTuple):
    """The Pod Security level that a namespace enforces, and the level whose violations only cause warnings."""

    enforce: Level
    """The level whose violations the API server denies."""
    warn: Level
    """The level for whose violations the API server returns a warning."""


def levels(labels: Mapping[str, str]) -> Levels:
    """Returns the levels that the labels of a namespace set.

    An invalid label enforces level restricted, and causes no warnings. Without a label for warnings, the API server
    warns of violations of the enforced level.
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
    """Yields the decision of Pod Security about a Pod, or its warnings about the pod template of a workload.

    The API server denies only Pods. For other built-in kinds with a pod template, the API server checks the template
    and only warns. The API server does not check custom kinds.
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
    violations: list[Problem],
) -> Decision:
    verb = "enforces" if mode == "enforce" else "warns of"
    reasons = "; ".join(dict.fromkeys(violation.message for violation in violations))
    return Decision(
        outcome,
        f"Pod Security {level.name}",
        f"namespace {namespace} {verb} Pod Security {level.name} ({level.version}): {reasons}",
        manifest,
        _path(mode, manifest),
        violations[0].field,
        "; ".join(dict.fromkeys(violation.fix for violation in violations)),
    )


def _path(mode: str, manifest: Manifest | None) -> Path:
    key = f"{PREFIX}{mode}"
    labels = manifest.labels if manifest is not None else {}
    if mode == "warn" and key not in labels:
        key = f"{PREFIX}enforce"
    return ("metadata", "labels", key) if key in labels else ()
