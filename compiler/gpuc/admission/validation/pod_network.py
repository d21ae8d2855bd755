"""DNS, host names and the host network of pods.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validatePodDNSConfig,
validatePodHostNetworkDeps, validatePodHostName, ValidateHostAliases)
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    dns_label,
    dns_subdomain,
    invalid,
    missing,
    one_of,
    text,
)
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_NAMESERVERS_MAX, _SEARCHES_MAX, _SEARCH_CHARACTERS_MAX, _HOSTNAME_MAX = 3, 32, 2048, 64
_SEARCH = re.compile(r"(?=.{1,253}$)[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?)*")


def network(path: Path, spec: Any, *, is_pod: bool) -> Problems:
    """Checks the fields of a pod about DNS, host names and the host network."""
    yield from one_of((*path, "dnsPolicy"), dig(spec, "dnsPolicy") or None, _POLICIES)
    yield from _dns(path, spec)
    for name in ("hostname", "subdomain"):
        yield from dns_label((*path, name), dig(spec, name))
    yield from _hostname_override(path, spec)
    for index, alias in items(dig(spec, "hostAliases")):
        where: Path = (*path, "hostAliases", index)
        yield from _address((*where, "ip"), dig(alias, "ip"))
        for row, name in items(dig(alias, "hostnames")):
            yield from dns_subdomain((*where, "hostnames", row), name)
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
    for index, option in items(dig(config, "options")):
        if not text(dig(option, "name")):
            yield missing((*where, "options", index, "name"))


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
    for index, container in items(dig(spec, "containers")):
        for row, port in items(dig(container, "ports")):
            host, own = dig(port, "hostPort") or 0, dig(port, "containerPort")
            if host != own and (is_pod or host):
                where: Path = (*path, "containers", index, "ports", row, "hostPort")
                yield invalid(where, host, f"the containerPort {own}, because hostNetwork is true", f"write {own}")


def _address(path: Path, value: Any) -> Problems:
    """Checks an IP address. The API server still allows zeros before the numbers of IPv4 addresses."""
    plain = re.sub(r"\b0+(?=[0-9])", "", text(value)) if ":" not in text(value) else text(value)
    try:
        ipaddress.ip_address(plain)
    except ValueError:
        yield invalid(path, value, "an IP address")
