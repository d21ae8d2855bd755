"""Checks and defaults of pods and containers, as functions, because no row of a table (see table.py) can describe them.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go, pkg/apis/core/v1/defaults.go, conversion.go,
pkg/apis/core/pods/helpers.go (ConvertDownwardAPIFieldLabel)
"""

import re
from typing import Final

from gpuc.admission.validation.constraints import at_least, dns_subdomain, label_key
from gpuc.admission.validation.field import INT32_MAX, Field, Problems, number, text
from gpuc.kubernetes.quantity import quantity
from gpuc.objects.object_set import dig, items, labels, pairs

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
UNCHECKED_ANNOTATIONS: Final = (
    "container.apparmor.security.beta.kubernetes.io/", "container.seccomp.security.alpha.kubernetes.io/",
    "kubernetes.io/config.mirror", "scheduler.alpha.kubernetes.io/tolerations", "seccomp.security.alpha.kubernetes.io/",
)  # fmt: skip
"""The beginnings of annotations of pods whose values the API server checks, but this package does not."""
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_INT32 = re.compile(r"0|-?[1-9][0-9]{0,9}")
_SEARCHES_MAX, _SEARCH_CHARACTERS_MAX = 32, 2048
_FIELDS = frozenset((
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.host", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
))  # fmt: skip
"""The fields of a pod that an environment variable can contain."""
_FILE_FIELDS = frozenset(
    ("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid")
)
"""The fields of a pod that a file in a volume can contain."""
_CPU_DIVISORS = frozenset(quantity(value) for value in ("1m", "1"))
_DIVISORS = frozenset(
    quantity(f"1{suffix}") for suffix in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
)
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_IPC_SYSCTLS = ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")
_IMAGE = re.compile(
    r"(?:(?:localhost|[-A-Za-z0-9]*[A-Z.][-A-Za-z0-9.]*|[-A-Za-z0-9.]+(?=:))(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-f]{32,})?"
)
"""An image: registry, path, tag and digest. The first part of the name is a registry if it contains ., : or A to Z."""


def _annotations_of_pods(field: Field) -> Problems:
    for key, entry in field.entries():
        if key.startswith(UNCHECKED_ANNOTATIONS):
            yield entry.not_checked()
        is_int32 = _INT32.fullmatch(entry.text) and -(2**31) <= int(entry.text) <= INT32_MAX
        if key == _DELETION_COST and entry.value == entry.text and not is_int32:
            yield entry.invalid("a 32-bit integer without leading zeros")


def _searches(field: Field) -> Problems:
    searches = [row.value for row in field.rows()]
    if len(searches) > _SEARCHES_MAX or len(" ".join(map(str, searches))) > _SEARCH_CHARACTERS_MAX:
        limit = f"at most {_SEARCHES_MAX} with together {_SEARCH_CHARACTERS_MAX} characters are allowed"
        yield field.problem(f"{len(searches)} search domains; {limit}")


def _ports_of_host_network(pod: Field) -> Problems:
    for port in (port for container in pod.rows("containers") for port in container.rows("ports")):
        host, own = port.get("hostPort") or 0, port.get("containerPort")
        if pod.get("hostNetwork") is True and host != own and (host or pod.path == ("spec",)):
            reason = f"the containerPort {own}, because hostNetwork is true"
            yield port.at("hostPort").reads(host).invalid(reason, f"write {own}")


def _names_of_containers(pod: Field) -> Problems:
    """Checks that the names of the containers and init containers of a pod differ."""
    names: set[str] = set()
    for container in (*pod.rows("containers"), *pod.rows("initContainers")):
        name = text(container.get("name"))
        if name in names:
            yield container.at("name").problem(f"two containers of the pod have the name {name}")
        names.add(name)


def _host_ports(pod: Field) -> Problems:
    """Checks that no two ports of the containers, or of one init container, use the same port of the host."""
    for containers in (list(pod.rows("containers")), *([container] for container in pod.rows("initContainers"))):
        used: set[tuple[str, str, int | None]] = set()
        for port in (port for container in containers for port in container.rows("ports")):
            key = (text(port.get("protocol")) or "TCP", text(port.get("hostIP")), number(port.get("hostPort")))
            if key[-1] and key in used:
                yield port.at("hostPort").problem(f"two ports of the pod use the host port {key[-1]}")
            used.add(key)


def _sleep(seconds: Field) -> Problems:
    yield from at_least(seconds, 0, number(seconds.within("pod").get("terminationGracePeriodSeconds")))


def _one_source(source: Field) -> Problems:
    present = [name for name in _SOURCES if source.get(name) is not None]
    if not present:
        yield source.problem(f"valueFrom needs one of {', '.join(_SOURCES)}")
    elif source.beside("value"):
        yield source.problem("value and valueFrom are both set", "remove value or valueFrom")
    elif len(present) > 1:
        yield source.problem(f"valueFrom has {' and '.join(present)}; only one is allowed")


def _field_of_variable(field: Field) -> Problems:
    return _field_path(field, _FIELDS)


def _field_of_file(field: Field) -> Problems:
    return _field_path(field, _FILE_FIELDS)


def _field_path(field: Field, allowed: frozenset[str]) -> Problems:
    """Checks the name of a field of the pod. The labels and annotations are allowed with a key in brackets."""
    subscript = _SUBSCRIPT.fullmatch(field.text)
    if subscript is None:
        if field.text not in allowed:
            yield field.invalid(" or ".join(sorted(allowed)))
        return
    base, key = subscript.groups()
    if base not in ("metadata.labels", "metadata.annotations"):
        yield field.invalid("a key in brackets only after metadata.labels or metadata.annotations")
    else:
        yield from label_key(field.reads(key.lower() if base == "metadata.annotations" else key))


def _divisor(reference: Field) -> Problems:
    divisor, is_cpu = quantity(reference.get("divisor")), text(reference.get("resource")).endswith(".cpu")
    if divisor and divisor not in (_CPU_DIVISORS if is_cpu else _DIVISORS):
        yield reference.at("divisor").invalid("1 or 1m" if is_cpu else "1 with a unit such as 1Mi")


def _prefix_of_name(name: Field) -> Problems:
    yield from dns_subdomain(name.reads(name.text.removesuffix("-")))


def _sysctls_of_host(sysctls: Field) -> Problems:
    """Checks that a pod with a namespace of the host sets no sysctl of this namespace."""
    pod = sysctls.within("pod")
    for field in (row.at("name") for row in sysctls.rows()):
        dotted = field.text.replace("/", ".")
        for namespace, prefixes in (("hostNetwork", ("net.",)), ("hostIPC", _IPC_SYSCTLS)):
            if pod.get(namespace) is True and dotted.startswith(prefixes):
                yield field.problem(f"a pod with {namespace} cannot set the sysctl {field.text}")


def _label_keys(term: Field) -> Problems:
    """Checks matchLabelKeys and mismatchLabelKeys.

    The API server adds a requirement to the label selector of a pod for each of these keys that the pod has as a label.
    No two requirements for a key of matchLabelKeys may exist. The API server does not do this for pod templates.
    """
    pod, selector = term.within("pod"), term.get("labelSelector")
    own = labels(pod.owner.get("metadata", "labels")) if pod.owner and pod.path == ("spec",) else {}
    keys = {name: [text(key) for _, key in items(term.get(name))] for name in ("matchLabelKeys", "mismatchLabelKeys")}
    used = {key for key, _ in pairs(dig(selector, "matchLabels"))}
    expected = [text(dig(row, "key")) for _, row in items(dig(selector, "matchExpressions"))]
    for key in (*expected, *(key for names in keys.values() for key in names if key in own)):
        if key in used and key in keys["matchLabelKeys"]:
            where = term.at("matchLabelKeys", keys["matchLabelKeys"].index(key))
            yield where.problem(f"{key} is also in labelSelector", f"remove {key} from matchLabelKeys")
        used.add(key)
    for key in keys["mismatchLabelKeys"]:
        if key in keys["matchLabelKeys"]:
            where = term.at("mismatchLabelKeys", keys["mismatchLabelKeys"].index(key))
            yield where.problem(f"{key} is also in matchLabelKeys")


def _one_number(values: Field) -> Problems:
    operator, own = values.beside("operator"), [row.value for row in values.rows()]
    if operator in ("Gt", "Lt", "Gte", "Lte") and len(own) != 1:
        yield values.reads(own).invalid(f"exactly one number for {operator}")


def _one_value(requirement: Field) -> Problems:
    """Checks the operator and the values of a requirement for the name of a node."""
    if requirement.get("operator") not in ("In", "NotIn"):
        yield requirement.at("operator").invalid("In or NotIn")
    elif len(list(requirement.rows("values"))) != 1:
        yield requirement.at("values").reads(requirement.get("values") or []).invalid("exactly one value")


def _names_of_account(pod: Field) -> Problems:
    account = pod.get("serviceAccountName") or pod.get("serviceAccount")
    if account:
        for name in ("serviceAccountName", "serviceAccount"):
            pod.value[name] = pod.get(name) or account
    yield from ()


def _pull_policy_of_container(container: Field) -> Problems:
    if isinstance(container.value, dict):
        container.value["imagePullPolicy"] = container.get("imagePullPolicy") or pull_policy(
            text(container.get("image"))
        )
    yield from ()


def _source_of_volume(volume: Field) -> Problems:
    if not isinstance(volume.value, dict):
        return
    if not any(value is not None for name, value in volume.value.items() if name != "name"):
        volume.value["emptyDir"] = {}
    image = volume.get("image")
    if isinstance(image, dict):
        image["pullPolicy"] = image.get("pullPolicy") or pull_policy(str(image.get("reference") or ""))
    yield from ()


def pull_policy(image: str) -> str:
    """Returns the default of imagePullPolicy: Always for an image with the tag latest or without a tag.

    Source: k8s.io/kubernetes v1.35.4 pkg/util/parsers/parsers.go; distribution/reference v0.6.0 regexp.go
    """
    match = _IMAGE.fullmatch(image)
    if match is None or match["tag"] not in (None, "latest"):
        return "IfNotPresent"
    return "IfNotPresent" if match["digest"] and not match["tag"] else "Always"
