"""Requests and limits of containers that the API server rejects.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go, ValidateResourceRequirements
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.kubernetes.amounts import amount, quantity_text
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import PodSet, Workload


def api_server_steps(workload: Workload, limits: list[Any]) -> Iterator[Step]:
    """Yields a failed step for the first container that the API server rejects; no step if it accepts all containers.

    Args:
        limits: the container limits of the namespace's LimitRanges, whose defaults apply before the validation.
    """
    for pods in workload.pod_sets:
        for kind, container in _containers(pods):
            message = next(_errors(container, limits), "")
            if message:
                yield Step(Stage.API, "failed", f"{kind} {dig(container, 'name')}: {message}", pods=pods.name)
                return


def _containers(pods: PodSet) -> Iterator[tuple[str, Any]]:
    """Yields the kind and the spec of all containers of a pod."""
    for key, kind in (("initContainers", "init container"), ("containers", "container")):
        yield from ((kind, container) for _, container in items(dig(pods.pod, key)))


def _errors(container: Any, limits: list[Any]) -> Iterator[str]:
    """Yields the reasons why the API server rejects a container, with the defaults of LimitRanges."""
    requests, maxima = (dict(pairs(dig(container, "resources", key))) for key in ("requests", "limits"))
    for name, value in (*maxima.items(), *requests.items()):
        yield from _invalid_quantity(str(name), value)
    for limit in limits:
        maxima = {**dict(pairs(dig(limit, "default"))), **maxima}
    for name, value in requests.items():
        count, maximum = amount(str(name), value), amount(str(name), maxima.get(name))
        if count is None:
            continue
        if maximum is None and _cannot_overcommit(str(name)):
            yield f"{name} needs a limit, because Kubernetes does not overcommit this resource"
        elif maximum is not None and _cannot_overcommit(str(name)) and count != maximum:
            yield f"the request of {value} {name} must be equal to the limit of {quantity_text(str(name), maximum)}"
        elif maximum is not None and count > maximum:
            yield f"the request of {value} {name} must be at most the limit of {quantity_text(str(name), maximum)}"


def _invalid_quantity(name: str, value: Any) -> Iterator[str]:
    """Yields an error for a value that is not a quantity, or that is a fraction of a device."""
    try:
        exact = parse_quantity(str(value))
    except ValueError as error:
        yield f"{name}: {error}"
        return
    if is_device(name) and exact.denominator != 1:
        yield f"{value} {name} must be an integer"


def is_device(name: str) -> bool:
    """Returns whether a resource is a device, which device plugins advertise.

    Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """
    return "/" in name and "kubernetes.io/" not in name


def _cannot_overcommit(name: str) -> bool:
    return is_device(name) or name.startswith("hugepages-")
