"""Pods and pod templates.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidatePodSpec, ValidatePodCreate,
ValidatePodTemplateSpec)
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.containers import containers
from gpuc.admission.validation.judged_fields import not_checked, unchecked, unchecked_annotations
from gpuc.admission.validation.metadata import labels_and_annotations
from gpuc.admission.validation.pod_network import network
from gpuc.admission.validation.pod_resources import pod_resources
from gpuc.admission.validation.problem import (
    INT32_MAX,
    Problem,
    Problems,
    at_least,
    dns_label,
    dns_subdomain,
    invalid,
    label_key,
    missing,
    one_of,
    text,
)
from gpuc.admission.validation.scheduling import affinity, node_selector, tolerations, topology_spread
from gpuc.admission.validation.security import pod_security_context
from gpuc.admission.validation.volumes import volumes
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, labels

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_INT32 = re.compile(r"0|-?[1-9][0-9]{0,9}")


def pod(document: Any) -> Problems:
    """Checks the spec of a Pod that is created. The metadata of objects are checked elsewhere."""
    spec = dig(document, "spec")
    yield from _annotations(("metadata",), dig(document, "metadata", "annotations"))
    yield from pod_spec(("spec",), spec, is_pod=True, own=labels(dig(document, "metadata", "labels")))
    if dig(spec, "ephemeralContainers"):
        yield Problem(("spec", "ephemeralContainers"), "a new pod cannot have ephemeral containers", "remove the field")
    if text(dig(spec, "nodeName")) and dig(spec, "schedulingGates"):
        yield Problem(("spec", "nodeName"), "a pod with scheduling gates cannot have nodeName")


def pod_template(path: Path, template: Any) -> Problems:
    """Checks a pod template: metadata and spec."""
    yield from labels_and_annotations((*path, "metadata"), dig(template, "metadata"))
    yield from _annotations((*path, "metadata"), dig(template, "metadata", "annotations"))
    yield from pod_spec((*path, "spec"), dig(template, "spec"), is_pod=False)
    if dig(template, "spec", "ephemeralContainers"):
        message = "a pod template cannot have ephemeral containers"
        yield Problem((*path, "spec", "ephemeralContainers"), message, "remove the field")


def pod_spec(path: Path, spec: Any, *, is_pod: bool, own: dict[str, str] | None = None) -> Problems:
    """Checks the spec of a pod or of a pod template, with the API server's defaults.

    Args:
        own: the labels of the pod.
    """
    yield from unchecked(path, spec, "pod")
    yield from volumes(path, spec, is_pod=is_pod)
    yield from _resource_claims(path, spec)
    yield from containers(path, spec, is_pod=is_pod)
    yield from pod_resources(path, spec)
    yield from network(path, spec, is_pod=is_pod)
    yield from _words_and_names(path, spec)
    yield from node_selector(path, spec)
    yield from pod_security_context(path, spec)
    yield from affinity(path, spec, own or {})
    yield from topology_spread(path, spec, own or {})
    yield from tolerations(path, spec)
    yield from _gates(path, spec)
    yield from _host_users(path, spec)
    yield from at_least((*path, "activeDeadlineSeconds"), dig(spec, "activeDeadlineSeconds"), 1, INT32_MAX)
    yield from _operating_system((*path, "os"), dig(spec, "os"))


def _words_and_names(path: Path, spec: Any) -> Problems:
    yield from one_of((*path, "restartPolicy"), dig(spec, "restartPolicy") or None, ("Always", "OnFailure", "Never"))
    for name in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        yield from dns_subdomain((*path, name), dig(spec, name))
    if dig(spec, "runtimeClassName") == "":
        yield invalid((*path, "runtimeClassName"), "", "a DNS subdomain")
    policies = ("PreemptLowerPriority", "Never")
    yield from one_of((*path, "preemptionPolicy"), dig(spec, "preemptionPolicy"), policies)


def _gates(path: Path, spec: Any) -> Problems:
    names: set[str] = set()
    for index, gate in items(dig(spec, "schedulingGates")):
        where: Path = (*path, "schedulingGates", index, "name")
        name = text(dig(gate, "name"))
        yield from label_key(where, name)
        if name in names:
            yield Problem(where, f"two scheduling gates have the name {name}")
        names.add(name)
    for index, gate in items(dig(spec, "readinessGates")):
        yield from label_key((*path, "readinessGates", index, "conditionType"), text(dig(gate, "conditionType")))


def _resource_claims(path: Path, spec: Any) -> Problems:
    names: set[str] = set()
    for index, claim in items(dig(spec, "resourceClaims")):
        where: Path = (*path, "resourceClaims", index)
        name = text(dig(claim, "name"))
        if not name:
            yield missing((*where, "name"))
        elif name in names:
            yield Problem((*where, "name"), f"two resource claims have the name {name}")
        yield from dns_label((*where, "name"), name)
        names.add(name)
        fields = ("resourceClaimName", "resourceClaimTemplateName")
        if len([field for field in fields if dig(claim, field) is not None]) != 1:
            yield Problem(where, f"expected exactly one of {' and '.join(fields)}")
        for field in fields:
            yield from dns_subdomain((*where, field), dig(claim, field))
            if dig(claim, field) == "":
                yield missing((*where, field))


def _host_users(path: Path, spec: Any) -> Problems:
    if dig(spec, "hostUsers") is not False:
        return
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if dig(spec, name) is True:
            yield Problem((*path, name), f"hostUsers: false allows no {name}")
    for field in ("initContainers", "containers"):
        for index, container in items(dig(spec, field)):
            if dig(container, "volumeDevices"):
                yield Problem((*path, field, index, "volumeDevices"), "hostUsers: false allows no volumeDevices")


def _operating_system(path: Path, system: Any) -> Problems:
    if system is None:
        return
    name = text(dig(system, "name"))
    if not name:
        yield missing((*path, "name"))
    elif name == "windows":
        yield not_checked((*path, "name"), "the rules for Windows pods")
    else:
        yield from one_of((*path, "name"), name, ("linux", "windows"))


def _annotations(path: Path, annotations: Any) -> Problems:
    yield from unchecked_annotations((*path, "annotations"), annotations)
    cost = dig(annotations, _DELETION_COST)
    if isinstance(cost, str) and not (_INT32.fullmatch(cost) and -(2**31) <= int(cost) <= INT32_MAX):
        yield invalid((*path, "annotations", _DELETION_COST), cost, "a 32-bit integer without leading zeros")
