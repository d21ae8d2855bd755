"""The amounts that one object adds to the usage of ResourceQuotas, by the keys of spec.hard.

Source: k8s.io/kubernetes v1.35.4 pkg/quota/v1/evaluator/core: registry.go, pods.go, services.go,
persistent_volume_claims.go, resource_claims.go; k8s.io/apiserver v0.35.4 pkg/quota/v1/generic/evaluator.go.
The feature gates have their defaults in 1.35: PodLevelResources is on, DRAExtendedResource is off.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any

from gpuc.admission.documents import CONTAINERS, api_group, container_name, kind
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.resource_name import resource_name
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items
from gpuc.objects.pod_resources import Resources, add, is_extended, of_pod, pod_level, quantities

_ONE = Fraction(1)
_OLD_NAMES = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
"""Resources whose name is also a key without the prefix "count/"."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_KEYS = frozenset((
    "count/pods", "pods", *_COMPUTE, *(f"{side}.{name}" for side in ("requests", "limits") for name in _COMPUTE),
))  # fmt: skip
_REQUIRED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
"""Keys for which every container must have a value."""
BY_STORAGE_CLASS = ".storageclass.storage.k8s.io/"
_BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
_CLAIM_KEYS = ("persistentvolumeclaims", "requests.storage")
_MOST_DEVICES = 32
"""The devices that count for a ResourceClaim with allocation mode All (AllocationResultsMaxSize)."""
_IGNORED = frozenset((("", "Event"), ("events.k8s.io", "Event"), ("", "Binding")))


def usage(document: Body) -> Resources:
    """Returns the usage of an object by key, without keys whose usage is zero; empty for objects that never count.

    Args:
        document: the object with all defaults; a Pod after `mutated`.
    """
    match api_group(document), kind(document):
        case "", "Pod":
            counts = _pod_usage(dig(document, "spec"))
        case "", "Service":
            counts = _service_usage(dig(document, "spec"))
        case "", "PersistentVolumeClaim":
            counts = _claim_usage(document)
        case "resource.k8s.io", "ResourceClaim":
            counts = _device_usage(dig(document, "spec"))
        case key if key in _IGNORED:
            counts = {}
        case group, name:
            resource = resource_name(group, name)
            counts = {f"count/{resource}": _ONE, **({resource: _ONE} if resource in _OLD_NAMES else {})}
    return {key: count for key, count in counts.items() if count}


def is_key_of(key: str, document: Body) -> bool:
    """Returns whether a key of spec.hard counts objects of this kind. Other keys do not make a quota apply."""
    match api_group(document), kind(document):
        case "", "Pod":
            is_device = key.startswith("requests.") and is_extended(key.removeprefix("requests."))
            is_claim = key.startswith("requests.deviceclass.resource.kubernetes.io/")
            return key in _POD_KEYS or key.startswith(("hugepages-", "requests.hugepages-")) or is_device or is_claim
        case "", "Service":
            return key in ("count/services", "services", "services.nodeports", "services.loadbalancers")
        case "", "PersistentVolumeClaim":
            by_class = tuple(f"{BY_STORAGE_CLASS}{name}" for name in _CLAIM_KEYS)
            return key in ("count/persistentvolumeclaims", *_CLAIM_KEYS) or key.endswith(by_class)
        case "resource.k8s.io", "ResourceClaim":
            return key == "count/resourceclaims.resource.k8s.io" or key.endswith(_BY_DEVICE_CLASS)
    return key in usage(document)


def missing_values(keys: Iterator[str], document: Body) -> Iterator[tuple[str, str, Path]]:
    """Yields the key, the container and the path of every value that a quota requires of a Pod.

    If a ResourceQuota limits cpu or memory, each container needs the request or the limit; unless the pod has requests
    or limits for all of its containers together.
    """
    spec = dig(document, "spec")
    if pod_level(spec, "requests") or pod_level(spec, "limits"):
        return
    for key in keys:
        if key not in _REQUIRED:
            continue
        side, _, name = key.rpartition(".")
        side = side or "requests"
        for field in reversed(CONTAINERS):
            for number, container in items(dig(spec, field)):
                path: Path = ("spec", field, number)
                if name not in quantities(dig(container, "resources", side)):
                    yield key, container_name(path, container), (*path, "resources", side, name)


def _pod_usage(spec: Any) -> Resources:
    requests, limits = of_pod(spec, "requests"), of_pod(spec, "limits")
    counts = {"count/pods": _ONE, "pods": _ONE}
    for name, count in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            counts[name] = count
        if name in _COMPUTE or name.startswith("hugepages-") or is_extended(name):
            counts[f"requests.{name}"] = count
    return {**counts, **{f"limits.{name}": count for name, count in limits.items() if name in _COMPUTE}}


def _service_usage(spec: Any) -> Resources:
    ports = [port for _, port in items(dig(spec, "ports"))]
    counts = {"count/services": _ONE, "services": _ONE}
    type_ = dig(spec, "type")
    if type_ == "LoadBalancer":
        counts["services.loadbalancers"] = _ONE
        if dig(spec, "allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if dig(port, "nodePort")]
    if type_ in ("LoadBalancer", "NodePort"):
        counts["services.nodeports"] = Fraction(len(ports))
    return counts


def _claim_usage(claim: Body) -> Resources:
    counts = {"count/persistentvolumeclaims": _ONE, "persistentvolumeclaims": _ONE}
    annotated = dig(claim, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class")
    storage_class = annotated or dig(claim, "spec", "storageClassName")
    storage = quantities(dig(claim, "spec", "resources", "requests")).get("storage")
    if storage is not None:
        counts["requests.storage"] = Fraction(ceil(storage))
    by_class = {f"{storage_class}{BY_STORAGE_CLASS}{name}": counts[name] for name in _CLAIM_KEYS if name in counts}
    return {**counts, **(by_class if storage_class else {})}


def _device_usage(spec: Any) -> Resources:
    counts: Resources = {"count/resourceclaims.resource.k8s.io": _ONE}
    for _, request in items(dig(spec, "devices", "requests")):
        alternatives = [row for _, row in items(dig(request, "firstAvailable"))] or [dig(request, "exactly")]
        largest: Resources = {}
        for row in alternatives:
            key = f"{dig(row, 'deviceClassName')}{_BY_DEVICE_CLASS}"
            count = dig(row, "count") if isinstance(dig(row, "count"), int) else 1
            number = Fraction(_MOST_DEVICES if dig(row, "allocationMode") == "All" else count)
            largest[key] = max(number, largest.get(key, number))
        counts = add(counts, largest)
    return counts
