"""The resources of a pod, which all its containers share.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validatePodResources,
validatePodResourceConsistency); k8s.io/component-helpers v0.35.4 resource/helpers.go (AggregateContainerRequests)
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.validation.problem import Problem, Problems
from gpuc.admission.validation.resources import pod_resource, requirements
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import HUGE_PAGES
from gpuc.kubernetes.quantity import format_quantity
from gpuc.objects.object_set import dig, items
from gpuc.objects.pod_resources import of_containers, quantities


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
    own = {field: quantities(dig(resources, field)) for field in ("requests", "limits")}
    for name, amount in of_containers(spec, "requests").items():
        if name in own["requests"] and amount > own["requests"][name]:
            least = format_quantity(amount)
            yield Problem(
                (*where, "requests", name), f"the containers request {least} {name} together", f"write {least}"
            )
    for name, amount in of_containers(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name in own["limits"] and amount > own["limits"][name]:
            message = f"the limits of the containers are {format_quantity(amount)} {name} together"
            yield Problem((*where, "limits", name), message)
    for index, container in items(dig(spec, "containers")):
        for name, amount in quantities(dig(container, "resources", "limits")).items():
            if name in own["limits"] and amount > own["limits"][name]:
                most = format_quantity(own["limits"][name])
                message = f"the limit of the container is more than the pod's limit of {most} {name}"
                yield Problem((*path, "containers", index, "resources", "limits", name), message)
