"""The resources of a pod, which all its containers share.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validatePodResources,
validatePodResourceConsistency); k8s.io/component-helpers v0.35.4 resource/helpers.go (AggregateContainerRequests)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from gpuc.admission.validation.problem import Problem, Problems
from gpuc.admission.validation.resources import pod_resource, requirements
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import HUGE_PAGES
from gpuc.kubernetes.quantity import format_quantity, quantity
from gpuc.objects.object_set import dig, items, pairs

Exact = dict[str, Fraction]


def pod_resources(path: Path, spec: Any) -> Problems:
    """Checks the resources of a pod, and compares them with the resources of the containers."""
    resources, where = dig(spec, "resources"), (*path, "resources")
    if not isinstance(resources, dict):
        return
    if dig(resources, "claims") is not None:
        yield Problem((*where, "claims"), "resources of a pod allow no claims", "move claims to a container")
    yield from requirements(
        where, {key: value for key, value in resources.items() if key != "claims"}, set(), pod_resource
    )
    own = {field: _exact(dig(resources, field)) for field in ("requests", "limits")}
    for name, amount in aggregate(spec, "requests").items():
        if name in own["requests"] and amount > own["requests"][name]:
            least = format_quantity(amount)
            yield Problem(
                (*where, "requests", name), f"the containers request {least} {name} together", f"write {least}"
            )
    for name, amount in aggregate(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name in own["limits"] and amount > own["limits"][name]:
            message = f"the limits of the containers are {format_quantity(amount)} {name} together"
            yield Problem((*where, "limits", name), message)
    for index, container in items(dig(spec, "containers")):
        for name, amount in _exact(dig(container, "resources", "limits")).items():
            if name in own["limits"] and amount > own["limits"][name]:
                most = format_quantity(own["limits"][name])
                message = f"the limit of the container is more than the pod's limit of {most} {name}"
                yield Problem((*path, "containers", index, "resources", "limits", name), message)


def aggregate(spec: Any, field: str) -> Exact:
    """Returns the sum of the requests or limits of the containers, or of the init containers if that is more.

    Args:
        field: "requests" or "limits".
    """
    running: Exact = {}
    peak: Exact = {}
    for _, container in items(dig(spec, "initContainers")):
        own = _exact(dig(container, "resources", field))
        if dig(container, "restartPolicy") == "Always":
            running = _sum(running, own)
            own = running
        else:
            own = _sum(running, own)
        peak = {name: max(peak.get(name, Fraction(0)), own.get(name, Fraction(0))) for name in {**peak, **own}}
    for _, container in items(dig(spec, "containers")):
        running = _sum(running, _exact(dig(container, "resources", field)))
    return {name: max(running.get(name, Fraction(0)), peak.get(name, Fraction(0))) for name in {**running, **peak}}


def _exact(quantities: Any) -> Exact:
    amounts = ((name, quantity(value)) for name, value in pairs(quantities))
    return {name: amount for name, amount in amounts if amount is not None}


def _sum(left: Exact, right: Exact) -> Exact:
    return {name: left.get(name, Fraction(0)) + right.get(name, Fraction(0)) for name in {**left, **right}}
