"""The API server's default requests and limits of pods, on which LimitRanges and ResourceQuotas depend.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go (SetDefaults_Pod, defaultHugePagePodLimits,
defaultPodRequests)
"""

from __future__ import annotations

from typing import Any

from gpuc.admission.documents import CONTAINERS
from gpuc.kubernetes.amounts import HUGE_PAGES
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.pod_resources import Resources, Side, of_containers, quantity_text

_OVERCOMMITTED = ("cpu", "memory")


def set_default_requests(spec: Body) -> None:
    """Sets missing requests of containers to their limits, and missing requests and limits of the complete pod."""
    for container in containers(spec):
        use_limits(container)
    if dig(spec, "resources", "requests") or dig(spec, "resources", "limits"):
        _set_pod_limits(spec)
        _set_pod_requests(spec)


def use_limits(owner: Body) -> None:
    """Sets missing requests of a container or a pod to its limits."""
    if limits := dict(pairs(dig(owner, "resources", "limits"))):
        add_missing(resources_of(owner, "requests"), limits)


def containers(spec: Body) -> list[Any]:
    """Returns the containers and init containers of a pod."""
    return [container for field in CONTAINERS for _, container in items(spec.get(field)) if isinstance(container, dict)]


def resources_of(owner: Body, side: Side) -> dict[str, Any]:
    """Returns the requests or limits of a container or a pod, which the caller may change; adds them if missing."""
    resources = owner.get("resources")
    if not isinstance(resources, dict):
        resources = owner["resources"] = {}
    if not isinstance(resources.get(side), dict):
        resources[side] = {}
    values: dict[str, Any] = resources[side]
    return values


def add_missing(target: dict[str, Any], values: dict[str, Any]) -> None:
    """Adds the values to a map whose keys the map does not have."""
    for name, value in values.items():
        target.setdefault(name, value)


def _set_pod_limits(spec: Body) -> None:
    """Sets the limits of huge pages of the pod to those of its containers, unless the pod requests huge pages."""
    requested = dict(pairs(dig(spec, "resources", "requests")))
    sums = of_containers(spec, "limits")
    missing = {name: n for name, n in sums.items() if name.startswith(HUGE_PAGES) and name not in requested}
    if missing:
        add_missing(resources_of(spec, "limits"), _texts(missing))


def _set_pod_requests(spec: Body) -> None:
    """Sets the requests of a pod with limits: to the requests of its containers, or else to the limits of the pod."""
    limits = dict(pairs(dig(spec, "resources", "limits")))
    if not limits:
        return
    sums = of_containers(spec, "requests")
    requests = resources_of(spec, "requests")
    add_missing(requests, _texts({name: count for name, count in sums.items() if name in _OVERCOMMITTED}))
    supported = (*_OVERCOMMITTED, HUGE_PAGES)
    add_missing(requests, {name: value for name, value in limits.items() if str(name).startswith(supported)})


def _texts(counts: Resources) -> dict[str, str]:
    return {name: quantity_text(name, count) for name, count in counts.items()}
