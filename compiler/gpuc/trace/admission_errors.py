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
    """A failed step for the first container that the API server rejects; no step if it accepts all containers.

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
    for key, kind in (("initContainers", "init container"), ("containers", "container")):
        yield from ((kind, container) for _, container in items(dig(pods.pod, key)))


def _errors(container: Any, limits: list[Any]) -> Iterator[str]:
    requests, bounds = (dict(pairs(dig(container, "resources", part))) for part in ("requests", "limits"))
    for name, value in (*bounds.items(), *requests.items()):
        yield from _invalid_quantity(str(name), value)
    for limit in limits:
        bounds = {**dict(pairs(dig(limit, "default"))), **bounds}
    for name, value in requests.items():
        count, bound = amount(str(name), value), amount(str(name), bounds.get(name))
        if count is None:
            continue
        if bound is None and _cannot_overcommit(str(name)):
            yield f"{name} needs a limit, because Kubernetes does not overcommit it"
        elif bound is not None and _cannot_overcommit(str(name)) and count != bound:
            yield f"the request of {value} {name} must be equal to the limit of {quantity_text(str(name), bound)}"
        elif bound is not None and count > bound:
            yield f"the request of {value} {name} must be at most the limit of {quantity_text(str(name), bound)}"


def _invalid_quantity(name: str, value: Any) -> Iterator[str]:
    """An error for a text that is not a quantity, or for a fraction of a device."""
    try:
        exact = parse_quantity(str(value))
    except ValueError as error:
        yield f"{name}: {error}"
        return
    if is_device(name) and exact.denominator != 1:
        yield f"{value} {name} must be an integer"


def is_device(name: str) -> bool:
    """Whether device plugins advertise a resource.

    Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """
    return "/" in name and "kubernetes.io/" not in name


def _cannot_overcommit(name: str) -> bool:
    return is_device(name) or name.startswith("hugepages-")
