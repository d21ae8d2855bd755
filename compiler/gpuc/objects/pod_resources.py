"""Adds up the requests and limits of pods in the same way as the API server, the scheduler and Kueue.

Source: k8s.io/component-helpers v0.35.4 resource/helpers.go (PodRequests, PodLimits); k8s.io/kubernetes v1.35.4
plugin/pkg/admission/limitranger/admission.go (podRequests, podLimits)
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import Any, Literal

from gpuc.kubernetes.amounts import CPU, Amounts
from gpuc.kubernetes.dns_name import is_label_key
from gpuc.kubernetes.quantity import format_quantity, quantity
from gpuc.objects.object_set import dig, items, pairs

Resources = dict[str, Fraction]
"""Exact quantities by resource name."""
Side = Literal["requests", "limits"]

_POD_LEVEL = re.compile(r"cpu|memory|hugepages-.*")
"""Resources that a pod can request for all of its containers together."""
_POD_LEVEL_IN_LIMIT_RANGES = re.compile(r"cpu|memory")


def quantities(value: Any) -> Resources:
    """Parses the quantities in a map, and rounds them up to thousandths as the API server does. Omits invalid values.

    Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go (SetDefaults_ResourceList)
    """
    parsed = ((str(name), quantity(text)) for name, text in pairs(value))
    return {name: Fraction(ceil(number * 1000), 1000) for name, number in parsed if number is not None}


def text(resource: str, value: Fraction) -> str:
    """Returns a quantity with the name of its resource, for example "4Gi memory"."""
    return f"{quantity_text(resource, value)} {resource}"


def quantity_text(resource: str, value: Fraction) -> str:
    """Formats a quantity in the usual form of its resource: "4Gi" for memory, "1500m" for cpu."""
    in_bytes = re.search(r"(^|\.)(memory|storage|ephemeral-storage|hugepages-.*)$", resource) is not None
    return format_quantity(value, "binary" if in_bytes else "decimal")


def add(left: Resources, right: Mapping[str, Fraction]) -> Resources:
    """Returns the sums of two maps of resources."""
    return {name: left.get(name, Fraction()) + right.get(name, Fraction()) for name in {**left, **right}}


def _largest(left: Resources, right: Resources) -> Resources:
    both = left.keys() & right.keys()
    return {**left, **right, **{name: max(left[name], right[name]) for name in both}}


def of_containers(spec: Any, side: Side) -> Resources:
    """Returns the requests or the limits of all containers of a pod together.

    Init containers run one after another, so only the largest counts. A sidecar also counts for all later containers.
    """
    running: Resources = {}
    peak: Resources = {}
    for _, container in items(dig(spec, "initContainers")):
        own = quantities(dig(container, "resources", side))
        if dig(container, "restartPolicy") == "Always":
            running = own = add(running, own)
        else:
            own = add(own, running)
        peak = _largest(peak, own)
    for _, container in items(dig(spec, "containers")):
        running = add(running, quantities(dig(container, "resources", side)))
    return _largest(running, peak)


def pod_level(spec: Any, side: Side) -> Resources:
    """Returns the requests or the limits in spec.resources of a pod; empty if the pod sets none there."""
    return {
        name: count for name, count in quantities(dig(spec, "resources", side)).items() if _POD_LEVEL.fullmatch(name)
    }


def of_pod(spec: Any, side: Side) -> Resources:
    """Returns the requests or limits of a pod as ResourceQuotas count them, with the overhead of the RuntimeClass."""
    total = {**of_containers(spec, side), **pod_level(spec, side)}
    overhead = quantities(dig(spec, "overhead"))
    if side == "limits":
        overhead = {name: count for name, count in overhead.items() if total.get(name)}
    return add(total, overhead)


def pod_requests(spec: Any) -> Amounts:
    """Returns the requests of a pod as the scheduler and Kueue count them; a missing request counts as zero.

    Args:
        spec: the spec of the pod with the defaults of the cluster, unvalidated: the result of `admitted_pod` or, for a
            job that waits in a queue, of `queued_pod`.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/resources/requests.go (NewRequestsFromPodSpec)
    """
    return {name: ceil(count * 1000 if name == CPU else count) for name, count in of_pod(spec, "requests").items()}


def of_pod_in_limit_range(spec: Any, side: Side) -> Resources:
    """Returns the requests or limits of a pod as LimitRanges of type Pod count them, without overhead."""
    own = {name: count for name, count in pod_level(spec, side).items() if _POD_LEVEL_IN_LIMIT_RANGES.fullmatch(name)}
    return {**of_containers(spec, side), **own}


def is_extended(name: str) -> bool:
    """Returns whether a resource is an extended resource, for example nvidia.com/gpu.

    Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/helper/helpers.go, IsExtendedResourceName
    """
    is_native = "/" not in name or "kubernetes.io/" in name
    return not is_native and not name.startswith("requests.") and is_label_key(f"requests.{name}")


def is_best_effort(spec: Any) -> bool:
    """Returns whether a pod has the QoS class BestEffort: it requests and limits no cpu and no memory.

    Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/helper/qos/qos.go, ComputePodQOS
    """
    if isinstance(dig(spec, "resources"), dict):
        owners = [dig(spec, "resources")]
    else:
        containers = [*items(dig(spec, "containers")), *items(dig(spec, "initContainers"))]
        owners = [dig(container, "resources") for _, container in containers]
    counts = [quantities(dig(owner, side)) for owner in owners for side in ("requests", "limits")]
    return not any(resources.get(name, 0) > 0 for resources in counts for name in ("cpu", "memory"))
