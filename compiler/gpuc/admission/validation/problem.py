"""Reasons why the API server refuses an object, the checks of single values that most kinds need, and unchecked fields.

Values are unvalidated. The structure check reports a value of a wrong type; the functions here then see the value as
missing.

Source: k8s.io/apimachinery v0.35.4 pkg/util/validation/validation.go, pkg/util/validation/field/errors.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.dns_name import LABEL, LABEL_1035, MAX_LABEL, MAX_NAME, SUBDOMAIN, is_label_key, is_label_value
from gpuc.objects.object_set import dig, items

INT32_MAX = 2**31 - 1
_PORT_NAME = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_PRINTABLE = re.compile(r"[ -<>-~]+")
_CONFIG_KEY = re.compile(r"(?!\.$)(?!\.\.)[-._a-zA-Z0-9]{1,253}")
_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PERCENT = re.compile(r"[0-9]+%")
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


class Problem(NamedTuple):
    """A reason why the API server refuses an object, or a field that gpuc does not check."""

    path: Path
    """The path of the field in the document."""
    message: str
    fix: str = ""
    is_unchecked: bool = False
    """Whether gpuc does not check the field, so that the API server may accept or refuse the object."""
    check: str = "API server"
    """The program that refuses the object: the API server, or the webhook of a controller."""


Problems = Iterator[Problem]


def text(value: Any) -> str:
    """Returns the value if it is a string, otherwise the empty string, which the API server sees as missing."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """Returns the value if it is an integer, otherwise None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count_or_one(value: Any) -> int:
    """Returns the value if it is an integer, otherwise 1, which is the default of most counts."""
    own = number(value)
    return 1 if own is None else own


def shown(value: Any) -> str:
    """Returns a value as JSON for a message, at most 80 characters."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= 80 else f"{line[:80]}..."


def missing(path: Path, reason: str = "") -> Problem:
    """Returns the problem that a required field is missing or empty."""
    return Problem(path, f"the required field {_name(path)} is missing{f': {reason}' if reason else ''}")


def invalid(path: Path, value: Any, allowed: str, fix: str = "") -> Problem:
    """Returns the problem that a field has a value that is not allowed.

    Args:
        allowed: the sentence part after "expected", for example "a DNS label".
    """
    return Problem(path, f"{_name(path)} is {shown(value)}; expected {allowed}", fix)


def required(path: Path, value: Any, *names: str) -> Problems:
    """Checks that text fields of a structure are present and not empty."""
    for name in names:
        if not text(dig(value, name)):
            yield missing((*path, name))


def repeated(path: Path, name: Any, names: set[Any], message: str) -> Problems:
    """Checks that a name is not among the names before it, and adds it to them."""
    if name in names:
        yield Problem(path, message)
    names.add(name)


def rows(path: Path, value: Any, *steps: str | int) -> Iterator[tuple[Path, Any]]:
    """Yields the path and the value of every item of a list in a structure, whose path is given."""
    for index, row in items(dig(value, *steps)):
        yield (*path, *steps, index), row


def one_of(path: Path, value: Any, allowed: Collection[str]) -> Problems:
    """Checks that a field, if it is present, has one of the allowed words."""
    if isinstance(value, str) and value not in allowed:
        suggestion = nearest(value, sorted(allowed))
        yield invalid(path, value, " or ".join(allowed), f"write {suggestion}" if suggestion else "")


def at_least(path: Path, value: Any, low: int, high: int | None = None) -> Problems:
    """Checks that a field, if it is a number, has at least the value `low` and at most the value `high`."""
    own = number(value)
    if own is not None and (own < low or (high is not None and own > high)):
        yield invalid(path, own, f"a number from {low} to {high}" if high is not None else f"{low} or more")


def dns_label(path: Path, value: Any) -> Problems:
    """Checks that a field, if it is not empty, is a DNS label: lower-case letters, digits and "-"."""
    if text(value) and not LABEL.fullmatch(value):
        allowed = f"a DNS label: at most {MAX_LABEL} lower-case letters, digits and -, first and last not -"
        yield invalid(path, value, allowed, _lower_case(value))


def dns_label_1035(path: Path, value: Any) -> Problems:
    """Checks that a field is a DNS label that begins with a letter."""
    if isinstance(value, str) and not LABEL_1035.fullmatch(value):
        allowed = f"a DNS label that begins with a letter: at most {MAX_LABEL} lower-case letters, digits and -"
        yield invalid(path, value, allowed, _lower_case(value) if value and value[0].isalpha() else "")


def dns_subdomain(path: Path, value: Any) -> Problems:
    """Checks that a field, if it is not empty, is a DNS subdomain: DNS labels with dots between them."""
    if text(value) and not (SUBDOMAIN.fullmatch(value) and len(value) <= MAX_NAME):
        allowed = f"a DNS subdomain: at most {MAX_NAME} lower-case letters, digits, - and ."
        yield invalid(path, value, allowed, _lower_case(value))


def label_key(path: Path, value: Any) -> Problems:
    """Checks that a string is a valid label key."""
    if isinstance(value, str) and not is_label_key(value):
        yield invalid(path, value, "a label key: at most 63 letters, digits, -, _ and ., after an optional domain/")


def label_value(path: Path, value: Any) -> Problems:
    """Checks that a string is a valid label value."""
    if isinstance(value, str) and not is_label_value(value):
        yield invalid(path, value, "a label value: at most 63 letters, digits, -, _ and .")


def labels_map(path: Path, value: Any) -> Problems:
    """Checks the keys and values of a map of labels."""
    for key, label in value.items() if isinstance(value, dict) else ():
        yield from label_key((*path, key), key)
        yield from label_value((*path, key), label)


def port_name(path: Path, value: str) -> Problems:
    """Checks the name of a port, which a probe can name instead of the number."""
    if not _PORT_NAME.fullmatch(value):
        yield invalid(path, value, "at most 15 lower-case letters, digits and single -, with at least one letter")


def port(path: Path, value: Any) -> Problems:
    """Checks a port, which is a number or a name."""
    if isinstance(value, str):
        yield from port_name(path, value)
    elif value is None:
        yield missing(path)
    else:
        yield from at_least(path, value, 1, 65535)


def environment_name(path: Path, value: Any) -> Problems:
    """Checks the name of an environment variable: printable ASCII characters without "="."""
    if not text(value):
        yield missing(path)
    elif not _PRINTABLE.fullmatch(value):
        yield invalid(path, value, "printable ASCII characters without =")


def config_key(path: Path, value: Any) -> Problems:
    """Checks a key of a ConfigMap or Secret."""
    if not text(value):
        yield missing(path)
    elif not _CONFIG_KEY.fullmatch(value):
        yield invalid(path, value, "at most 253 letters, digits, -, _ and .")


def domain_path(path: Path, value: Any, longest: int = MAX_LABEL) -> Problems:
    """Checks the name of a controller, which has a domain as prefix: example.com/controller."""
    if not isinstance(value, str):
        return
    domain, slash, rest = value.partition("/")
    is_domain = SUBDOMAIN.fullmatch(domain) is not None and len(domain) <= MAX_NAME
    if not (slash and is_domain and _PATH_CHARACTERS.fullmatch(rest)) or len(value) > longest:
        yield invalid(path, value, f"a name with a domain such as example.com/name, at most {longest} characters")


def count_or_percent(path: Path, value: Any, *, has_maximum: bool = True) -> Problems:
    """Checks a number of at least 0, or a percentage as text, which is at most 100% if it has a maximum."""
    if isinstance(value, str) and not _PERCENT.fullmatch(value):
        yield invalid(path, value, "a number or a percentage such as 25%", f"write {value}" if value.isdigit() else "")
    yield from at_least(path, value, 0)
    if has_maximum and (percentage(value) or 0) > 100:
        yield invalid(path, value, "at most 100%")


def percentage(value: Any) -> int | None:
    """Returns the number of a percentage such as 25%; None for any other value."""
    return int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def _lower_case(value: str) -> str:
    """Returns a fix if the value becomes a DNS label with other letters."""
    changed = value.lower().replace("_", "-")
    return f"write {changed}" if changed != value and LABEL.fullmatch(changed) else ""


def _name(path: Path) -> str:
    """Returns the last field of a path, with its index: containers[0], image."""
    if len(path) > 1 and isinstance(path[-1], int):
        return f"{path[-2]}[{path[-1]}]"
    return str(path[-1]) if path else "the object"


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
