"""What the API server refuses of a pod's requests, whatever room there is.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go, ValidateResourceRequirements
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.kubernetes.amounts import amount, quantity_text
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.objects.object_set import dig, items, pairs
from gpuc.trace.steps import Stage, Step
from gpuc.trace.work import PodSet, Work


def refused_steps(work: Work, limits: list[Any]) -> Iterator[Step]:
    """The first thing that is refused of any container, as a step that fails; no step where all is well.

    Args:
        limits: the container limits of the namespace's LimitRanges, whose defaults are set before anybody looks.
    """
    for pods in work.pod_sets:
        for what, container in _containers(pods):
            message = next(_faults(container, limits), "")
            if message:
                yield Step(Stage.API, "failed", f"{what} {dig(container, 'name')}: {message}", pods=pods.name)
                return


def _containers(pods: PodSet) -> Iterator[tuple[str, Any]]:
    for key, what in (("initContainers", "init container"), ("containers", "container")):
        yield from ((what, each) for _, each in items(dig(pods.pod, key)))


def _faults(container: Any, limits: list[Any]) -> Iterator[str]:
    asked, bounds = (dict(pairs(dig(container, "resources", part))) for part in ("requests", "limits"))
    for name, value in (*bounds.items(), *asked.items()):
        yield from _odd(str(name), value)
    for each in limits:
        bounds = {**dict(pairs(dig(each, "default"))), **bounds}
    for name, value in asked.items():
        count, bound = amount(str(name), value), amount(str(name), bounds.get(name))
        if count is None:
            continue
        if bound is None and _is_whole(str(name)):
            yield f"{name} is requested and has no limit, which must be set for resources that are not overcommitted"
        elif bound is not None and _is_whole(str(name)) and count != bound:
            yield f"a request of {value} {name} must be equal to its limit of {quantity_text(str(name), bound)}"
        elif bound is not None and count > bound:
            yield f"a request of {value} {name} must be at most its limit of {quantity_text(str(name), bound)}"


def _odd(name: str, value: Any) -> Iterator[str]:
    """What is no quantity, and parts of what comes whole."""
    try:
        exact = parse_quantity(str(value))
    except ValueError as error:
        yield f"{name}: {error}"
        return
    if is_device(name) and exact.denominator != 1:
        yield f"{value} {name} must be an integer"


def is_device(name: str) -> bool:
    """Whether a resource is one that device plugins advertise.

    Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """
    return "/" in name and "kubernetes.io/" not in name


def _is_whole(name: str) -> bool:
    return is_device(name) or name.startswith("hugepages-")
