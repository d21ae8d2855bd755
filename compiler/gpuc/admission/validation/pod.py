"""Pods and pod templates, with their DNS, host names and host network.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (ValidatePodSpec, ValidatePodCreate,
ValidatePodTemplateSpec, validatePodDNSConfig, validatePodHostNetworkDeps, validatePodHostName, ValidateHostAliases)
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from gpuc.admission.validation.containers import containers
from gpuc.admission.validation.metadata import labels_and_annotations
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
    not_checked,
    one_of,
    repeated,
    required,
    rows,
    text,
    unchecked,
    unchecked_annotations,
)
from gpuc.admission.validation.resources import pod_resources
from gpuc.admission.validation.scheduling import affinity, node_selector, tolerations, topology_spread
from gpuc.admission.validation.security import pod_security_context
from gpuc.admission.validation.volumes import volumes
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items, labels

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_INT32 = re.compile(r"0|-?[1-9][0-9]{0,9}")
_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_NAMESERVERS_MAX, _SEARCHES_MAX, _SEARCH_CHARACTERS_MAX, _HOSTNAME_MAX = 3, 32, 2048, 64
_SEARCH = re.compile(r"(?=.{1,253}$)[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?)*")


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
    for gate_path, gate in rows(path, spec, "schedulingGates"):
        where, name = (*gate_path, "name"), text(dig(gate, "name"))
        yield from label_key(where, name)
        yield from repeated(where, name, names, f"two scheduling gates have the name {name}")
    for where, gate in rows(path, spec, "readinessGates"):
        yield from label_key((*where, "conditionType"), text(dig(gate, "conditionType")))


def _resource_claims(path: Path, spec: Any) -> Problems:
    names: set[str] = set()
    for where, claim in rows(path, spec, "resourceClaims"):
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
        for where, container in rows(path, spec, field):
            if dig(container, "volumeDevices"):
                yield Problem((*where, "volumeDevices"), "hostUsers: false allows no volumeDevices")


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


def network(path: Path, spec: Any, *, is_pod: bool) -> Problems:
    """Checks the fields of a pod about DNS, host names and the host network."""
    yield from one_of((*path, "dnsPolicy"), dig(spec, "dnsPolicy") or None, _POLICIES)
    yield from _dns(path, spec)
    for name in ("hostname", "subdomain"):
        yield from dns_label((*path, name), dig(spec, name))
    yield from _hostname_override(path, spec)
    for where, alias in rows(path, spec, "hostAliases"):
        yield from _address((*where, "ip"), dig(alias, "ip"))
        for name_path, name in rows(where, alias, "hostnames"):
            yield from dns_subdomain(name_path, name)
    if dig(spec, "hostNetwork") is True:
        yield from _host_network(path, spec, is_pod=is_pod)


def _dns(path: Path, spec: Any) -> Problems:
    where, config = (*path, "dnsConfig"), dig(spec, "dnsConfig")
    servers, searches = ([row for _, row in items(dig(config, name))] for name in ("nameservers", "searches"))
    if dig(spec, "dnsPolicy") == "None" and not servers:
        yield missing((*where, "nameservers"), "dnsPolicy None needs a nameserver")
    if len(servers) > _NAMESERVERS_MAX:
        yield Problem((*where, "nameservers"), f"{len(servers)} nameservers; at most {_NAMESERVERS_MAX} are allowed")
    for index, server in enumerate(servers):
        yield from _address((*where, "nameservers", index), server)
    if len(searches) > _SEARCHES_MAX or len(" ".join(map(str, searches))) > _SEARCH_CHARACTERS_MAX:
        limit = f"at most {_SEARCHES_MAX} with together {_SEARCH_CHARACTERS_MAX} characters are allowed"
        yield Problem((*where, "searches"), f"{len(searches)} search domains; {limit}")
    for index, search in enumerate(searches):
        if search != "." and not _SEARCH.fullmatch(text(search).removesuffix(".")):
            yield invalid((*where, "searches", index), search, "a DNS subdomain; _ is allowed")
    for option_path, option in rows(where, config, "options"):
        yield from required(option_path, option, "name")


def _hostname_override(path: Path, spec: Any) -> Problems:
    override = dig(spec, "hostnameOverride")
    if override is None:
        return
    where: Path = (*path, "hostnameOverride")
    for name in ("setHostnameAsFQDN", "hostNetwork"):
        if dig(spec, name) is True:
            yield Problem(where, f"hostnameOverride and {name} are both set")
    if not text(override) or len(override) > _HOSTNAME_MAX:
        yield invalid(where, override, f"1 to {_HOSTNAME_MAX} characters")
    yield from dns_subdomain(where, override)


def _host_network(path: Path, spec: Any, *, is_pod: bool) -> Problems:
    for container_path, container in rows(path, spec, "containers"):
        for where, port in rows(container_path, container, "ports"):
            host, own = dig(port, "hostPort") or 0, dig(port, "containerPort")
            if host != own and (is_pod or host):
                yield invalid(
                    (*where, "hostPort"), host, f"the containerPort {own}, because hostNetwork is true", f"write {own}"
                )


def _address(path: Path, value: Any) -> Problems:
    """Checks an IP address. The API server still allows zeros before the numbers of IPv4 addresses."""
    plain = re.sub(r"\b0+(?=[0-9])", "", text(value)) if ":" not in text(value) else text(value)
    try:
        ipaddress.ip_address(plain)
    except ValueError:
        yield invalid(path, value, "an IP address")
