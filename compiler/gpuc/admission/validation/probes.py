"""Probes and lifecycle handlers of containers.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validateProbe, validateHandler,
validateLifecycle)
"""

from __future__ import annotations

import re
from typing import Any

from gpuc.admission.validation.judged_fields import unchecked
from gpuc.admission.validation.problem import Problem, Problems, at_least, invalid, missing, number, one_of, port, text
from gpuc.diagnostics.finding import Path
from gpuc.objects.object_set import dig, items

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_ACTIONS = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_ACTIONS = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = re.compile(r"[-A-Za-z0-9]+")


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
    for index, header in items(dig(action, "httpHeaders")):
        if not _HEADER.fullmatch(text(dig(header, "name"))):
            yield invalid((*path, "httpHeaders", index, "name"), dig(header, "name"), "letters, digits and -")
