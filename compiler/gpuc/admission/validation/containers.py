"""Containers and init containers of pods, with their probes and lifecycle handlers.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validateContainerCommon, validateContainers,
validateInitContainers, validateProbe, validateHandler, validateLifecycle)
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from gpuc.admission.validation.environment import environment
from gpuc.admission.validation.problem import (
    Problem,
    Problems,
    at_least,
    dns_label,
    invalid,
    missing,
    number,
    one_of,
    port,
    port_name,
    repeated,
    required,
    rows,
    text,
    unchecked,
)
from gpuc.admission.validation.resources import requirements
from gpuc.admission.validation.security import container_security
from gpuc.admission.validation.volumes import PULL_POLICIES, devices, mounts, volume_names
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

_RESTART = ("Always", "OnFailure", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RULES_MAX, _EXIT_CODES_MAX = 20, 255
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_ACTIONS = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_ACTIONS = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = re.compile(r"[-A-Za-z0-9]+")


class _Pod(NamedTuple):
    """The parts of a pod that the checks of its containers read."""

    spec: Any
    volumes: dict[str, bool]
    claims: set[str]
    grace: Any
    is_pod: bool


def containers(path: Path, spec: Any, *, is_pod: bool) -> Problems:
    """Checks all containers of a pod.

    Args:
        is_pod: whether the object is a pod; otherwise it is the template of pods.
    """
    claims = {text(dig(claim, "name")) for _, claim in items(dig(spec, "resourceClaims"))} - {""}
    pod = _Pod(spec, volume_names(spec), claims, dig(spec, "terminationGracePeriodSeconds"), is_pod)
    if not dig(spec, "containers"):
        yield missing((*path, "containers"))
    host_ports: set[tuple[Any, ...]] = set()
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for where, container in rows(path, spec, field):
            yield from _container(where, container, pod)
            name = text(dig(container, "name"))
            yield from repeated((*where, "name"), name, names, f"two containers of the pod have the name {name}")
            yield from _host_ports(where, container, host_ports if field == "containers" else set())
            if field == "containers" or dig(container, "restartPolicy") == "Always":
                yield from lifecycle(where, container, pod.grace)
                yield from probes(where, container, pod.grace)
            else:
                yield from _without_probes(where, container)
            yield from _restart_rules(where, container)


def _container(path: Path, container: Any, pod: _Pod) -> Problems:
    yield from unchecked(path, container, "container")
    name, image = text(dig(container, "name")), text(dig(container, "image"))
    yield from required(path, container, "name")
    yield from dns_label((*path, "name"), name)
    if not image:
        yield missing((*path, "image"))
    elif pod.is_pod and image != image.strip():
        yield invalid((*path, "image"), image, "no spaces around the image")
    for field, allowed in (("terminationMessagePolicy", _MESSAGE_POLICIES), ("imagePullPolicy", PULL_POLICIES)):
        if dig(container, field) != "":
            yield from one_of((*path, field), dig(container, field), allowed)
    yield from _ports(path, container)
    yield from environment(path, container)
    yield from mounts(path, container, pod.volumes)
    yield from devices(path, container, pod.volumes)
    yield from requirements((*path, "resources"), dig(container, "resources"), pod.claims)
    yield from _resize(path, container, dig(pod.spec, "restartPolicy"))
    has_host_users = dig(pod.spec, "hostUsers") is not False
    yield from container_security((*path, "securityContext"), dig(container, "securityContext"), has_host_users)


def _without_probes(path: Path, container: Any) -> Problems:
    for name in (*PROBES, "lifecycle"):
        if dig(container, name) is not None:
            message = f"an init container without restartPolicy Always allows no {name}"
            yield Problem((*path, name), message, f"remove {name}, or add restartPolicy: Always")


def _restart_rules(path: Path, container: Any) -> Problems:
    policy, rules = dig(container, "restartPolicy"), list(rows(path, container, "restartPolicyRules"))
    yield from one_of((*path, "restartPolicy"), policy, _RESTART)
    if rules and policy is None:
        yield missing((*path, "restartPolicy"), "restartPolicyRules need a restartPolicy")
    if len(rules) > _RULES_MAX:
        yield Problem((*path, "restartPolicyRules"), f"{len(rules)} rules; at most {_RULES_MAX} are allowed")
    for where, rule in rules:
        if dig(rule, "action") not in ("Restart", "RestartAllContainers"):
            yield invalid((*where, "action"), dig(rule, "action"), "Restart")
        elif dig(rule, "action") != "Restart":
            yield invalid((*where, "action"), dig(rule, "action"), "Restart; the feature gate of others is off")
        codes = dig(rule, "exitCodes")
        if codes is None:
            yield missing((*where, "exitCodes"))
            continue
        if dig(codes, "operator") not in ("In", "NotIn"):
            yield invalid((*where, "exitCodes", "operator"), dig(codes, "operator"), "In or NotIn")
        if len(list(items(dig(codes, "values")))) > _EXIT_CODES_MAX:
            yield Problem((*where, "exitCodes", "values"), f"more than {_EXIT_CODES_MAX} exit codes")


def _ports(path: Path, container: Any) -> Problems:
    names: set[str] = set()
    for where, row in rows(path, container, "ports"):
        name, own = text(dig(row, "name")), dig(row, "containerPort")
        if name:
            yield from port_name((*where, "name"), name)
            yield from repeated((*where, "name"), name, names, f"two ports of the container have the name {name}")
        if not own:
            yield missing((*where, "containerPort"))
        else:
            yield from at_least((*where, "containerPort"), own, 1, 65535)
        if dig(row, "hostPort"):
            yield from at_least((*where, "hostPort"), dig(row, "hostPort"), 1, 65535)
        yield from one_of((*where, "protocol"), dig(row, "protocol") or None, ("TCP", "UDP", "SCTP"))


def _host_ports(path: Path, container: Any, used: set[tuple[Any, ...]]) -> Problems:
    """Checks that no two ports use the same port of the host. Adds the ports of the container to `used`."""
    for where, row in rows(path, container, "ports"):
        if port := number(dig(row, "hostPort")):
            key = (dig(row, "protocol") or "TCP", dig(row, "hostIP") or "", port)
            yield from repeated((*where, "hostPort"), key, used, f"two ports of the pod use the host port {port}")


def _resize(path: Path, container: Any, restart: Any) -> Problems:
    names: set[str] = set()
    for where, row in rows(path, container, "resizePolicy"):
        name, policy = text(dig(row, "resourceName")), text(dig(row, "restartPolicy"))
        yield from repeated((*where, "resourceName"), name, names, f"two items have the resource {name}")
        if name not in ("cpu", "memory"):
            yield invalid((*where, "resourceName"), name, "cpu or memory")
        if policy not in ("NotRequired", "RestartContainer"):
            yield invalid((*where, "restartPolicy"), policy, "NotRequired or RestartContainer")
        elif restart == "Never" and policy != "NotRequired":
            yield invalid((*where, "restartPolicy"), policy, "NotRequired, because the pod has restartPolicy Never")


def probes(path: Path, container: Any, grace: Any) -> Problems:
    """Checks the probes of a container.

    Args:
        grace: terminationGracePeriodSeconds of the pod.
    """
    for name in PROBES:
        probe = dig(container, name)
        if probe is None:
            continue
        where: Path = (*path, name)
        yield from _action(where, probe, _PROBE_ACTIONS, grace)
        for field in _COUNTS:
            yield from at_least((*where, field), dig(probe, field), 0)
        own_grace = dig(probe, "terminationGracePeriodSeconds")
        if name == "readinessProbe":
            if own_grace is not None:
                message = "a readinessProbe allows no terminationGracePeriodSeconds"
                yield Problem((*where, "terminationGracePeriodSeconds"), message, "remove the field")
            continue
        yield from at_least((*where, "terminationGracePeriodSeconds"), own_grace, 1)
        if number(dig(probe, "successThreshold")) not in (None, 0, 1):
            yield invalid((*where, "successThreshold"), dig(probe, "successThreshold"), "1", "write 1")


def lifecycle(path: Path, container: Any, grace: Any) -> Problems:
    """Checks the lifecycle handlers of a container. `grace` is terminationGracePeriodSeconds of the pod."""
    handlers = dig(container, "lifecycle")
    yield from unchecked((*path, "lifecycle"), handlers, "lifecycle")
    for name in ("postStart", "preStop"):
        if dig(handlers, name) is not None:
            yield from _action((*path, "lifecycle", name), dig(handlers, name), _LIFECYCLE_ACTIONS, grace)


def _action(path: Path, handler: Any, allowed: tuple[str, ...], grace: Any) -> Problems:
    present = [name for name in allowed if dig(handler, name) is not None]
    if not present:
        yield missing(path, f"expected one of {', '.join(allowed)}")
    elif len(present) > 1:
        yield Problem((*path, present[1]), f"{' and '.join(present)} are set; only one is allowed")
    for name in present:
        where, action = (*path, name), dig(handler, name)
        if name == "exec" and not dig(action, "command"):
            yield missing((*where, "command"))
        elif name == "httpGet":
            yield from _http((*where,), action)
        elif name == "sleep":
            yield from at_least((*where, "seconds"), dig(action, "seconds"), 0, number(grace))
        elif name in ("tcpSocket", "grpc"):
            yield from port((*where, "port"), dig(action, "port"))


def _http(path: Path, action: Any) -> Problems:
    yield from port((*path, "port"), dig(action, "port"))
    if dig(action, "scheme") != "":
        yield from one_of((*path, "scheme"), dig(action, "scheme"), ("HTTP", "HTTPS"))
    for where, header in rows(path, action, "httpHeaders"):
        if not _HEADER.fullmatch(text(dig(header, "name"))):
            yield invalid((*where, "name"), dig(header, "name"), "letters, digits and -")
