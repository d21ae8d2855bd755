"""Checks whether the ResourceQuotas of a namespace allow pods and other objects that exist at the same time.

gpuc assumes that the namespace is empty. The feature gates have their defaults in 1.35: PodLevelResources is on,
DRAExtendedResource is off.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/resourcequota/controller.go (CheckRequest),
pkg/quota/v1/generic/evaluator.go; k8s.io/kubernetes v1.35.4 pkg/quota/v1/evaluator/core: registry.go, pods.go,
services.go, persistent_volume_claims.go, resource_claims.go; pkg/apis/core/v1/helper/helpers.go
(ScopedResourceSelectorRequirementsAsSelector)
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

from gpuc.admission.documents import api_group, container_name, in_namespace, is_pod, kind, pod_part
from gpuc.admission.request import Decision, Request
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.resource_name import resource_name
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pod_resources import (
    Resources,
    add,
    is_best_effort,
    is_extended,
    of_pod,
    pod_level,
    quantities,
    quantity_text,
)


def quota_decisions(objects: ObjectSet, namespace: str, requests: Sequence[tuple[Request, int]]) -> Iterator[Decision]:
    """Yields the decisions of the ResourceQuotas of a namespace about objects that exist at the same time.

    A ResourceQuota that counts none of the objects yields no decision.

    Args:
        requests: each request with the number of equal objects; requests about Pods are results of `mutated`.
    """
    created = [(request.document, count) for request, count in requests if count > 0]
    for quota in in_namespace(objects, "ResourceQuota", namespace):
        yield from _decisions(quota, created)


def _hard(quota: Manifest) -> Resources:
    return quantities(dig(quota.body, "spec", "hard"))


def _decisions(quota: Manifest, created: list[tuple[Body, int]]) -> Iterator[Decision]:
    """Yields a denial for every exceeded key and every missing value, or that the ResourceQuota allows the objects."""
    counted = [
        (document, count)
        for document, count in created
        if any(is_key_of(key, document) for key in _hard(quota)) and is_in_scope(quota, document)
    ]
    denials = [decision for document, _ in counted if is_pod(document) for decision in _missing(quota, document)]
    usages = [(document, count, usage(document)) for document, count in counted]
    total: Resources = {}
    for _, count, amounts in usages:
        total = add(total, {key: count * amount for key, amount in amounts.items()})
    for key, most in _hard(quota).items():
        if key in total and total[key] > most:
            denials.append(_exceeded(quota, key, most, total[key], [row for row in usages if row[2].get(key)]))
    if counted:
        yield from denials or [Decision("allowed", str(quota), "", quota, ("spec", "hard"))]


def _missing(quota: Manifest, document: Body) -> Iterator[Decision]:
    for key, container, field in missing_values(iter(_hard(quota)), document):
        side, name = str(field[-2]).removesuffix("s"), str(field[-1])
        message = f"{container} has no {side} of {name}, which {quota} requires because of its key {key}"
        fix = f"set a {side} of {name} for {container}"
        yield Decision("denied", str(quota), message, quota, ("spec", "hard", key), field, fix)


def _exceeded(
    quota: Manifest, key: str, most: Fraction, needed: Fraction, users: list[tuple[Body, int, Resources]]
) -> Decision:
    """Returns the denial of objects that exceed a key.

    Args:
        users: the objects that count for the key, with their number and the usage of one object.
    """
    kinds = sorted({kind(document) for document, _, _ in users})
    names = f"{' and '.join(kinds)} objects" if kinds != ["Pod"] else "the pods"
    number = sum(count for _, count, _ in users)
    text = quantity_text(key, most)
    message = f"{names} need {quantity_text(key, needed)} of {key}; the quota of the namespace is {text}"
    fix = ""
    if len(users) == 1:
        one = users[0][2][key]
        fits = max(0, floor(most / one))
        if number > 1:
            message += f", which is enough for {fits} of {number}"
        fix = f"create at most {fits} at the same time" if fits > 0 and number > 1 else ""
        if not fix and one != 1 and most > 0 and key not in ("pods", "count/pods"):
            fix = f"use at most {text} of {key}"
    path: Path = ("spec", "hard", key)
    return Decision("denied", str(quota), message, quota, path, _field(key, users), fix)


def _field(key: str, users: list[tuple[Body, int, Resources]]) -> Path:
    """Returns the path of the first container whose request or limit counts for a key; empty without one."""
    side, _, name = key.partition(".") if key.startswith(("requests.", "limits.")) else ("requests", "", key)
    for document, _, _ in users if users and is_pod(users[0][0]) else ():
        containers = dig(document, "spec", "containers")
        for number, container in enumerate(containers if isinstance(containers, list) else ()):
            if dig(container, "resources", side, name) is not None:
                return ("spec", "containers", number, "resources", side, name)
    return ()


_TERMS = (
    ("requiredDuringSchedulingIgnoredDuringExecution",),
    ("preferredDuringSchedulingIgnoredDuringExecution", "podAffinityTerm"),
)


def is_in_scope(quota: Manifest, document: Body) -> bool:
    """Returns whether all scopes of a ResourceQuota match an object; True for a ResourceQuota without scopes."""
    scopes = [{"scopeName": name, "operator": "Exists"} for _, name in items(dig(quota.body, "spec", "scopes"))]
    scopes += [scope for _, scope in items(dig(quota.body, "spec", "scopeSelector", "matchExpressions"))]
    return all(_matches(scope, document) for scope in scopes)


def _matches(scope: Any, document: Body) -> bool:
    name, spec = dig(scope, "scopeName"), dig(document, "spec")
    if is_pod(document):
        match name:
            case "Terminating" | "NotTerminating":
                seconds = dig(spec, "activeDeadlineSeconds")
                return (isinstance(seconds, int) and seconds >= 0) is (name == "Terminating")
            case "BestEffort" | "NotBestEffort":
                return is_best_effort(spec) is (name == "BestEffort")
            case "CrossNamespacePodAffinity":
                return _selects_other_namespaces(spec)
            case "PriorityClass":
                return _selects(scope, dig(spec, "priorityClassName"))
    elif (api_group(document), kind(document)) == ("", "PersistentVolumeClaim") and name == "VolumeAttributesClass":
        return _selects(scope, dig(spec, "volumeAttributesClassName"))
    return False


def _selects(scope: Any, value: Any) -> bool:
    """Returns whether the operator and the values of a scope select the name of a class, which may be missing."""
    values = [text for _, text in items(dig(scope, "values"))]
    match dig(scope, "operator"):
        case "In":
            return bool(value) and value in values
        case "NotIn":
            return not value or value not in values
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
    return False


def _selects_other_namespaces(spec: Any) -> bool:
    terms = (
        dig(row, *steps)
        for affinity in ("podAffinity", "podAntiAffinity")
        for field, *steps in _TERMS
        for _, row in items(dig(spec, "affinity", affinity, field))
    )
    return any(dig(term, "namespaces") or dig(term, "namespaceSelector") is not None for term in terms)


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
    """Returns how much an object uses of a ResourceQuota, by key of spec.hard; keys with zero are left out.

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
    """Returns whether a key in a ResourceQuota's spec.hard counts objects of a kind: "requests.cpu" counts Pods."""
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
    """Yields the requests and limits that a ResourceQuota requires but a Pod lacks: the key, the container, the path.

    If a ResourceQuota limits cpu or memory, each container needs the request or the limit. But if the pod sets requests
    or limits for all of its containers together, its containers need none.
    """
    pod = pod_part(document)
    if pod is None or pod_level(pod.spec, "requests") or pod_level(pod.spec, "limits"):
        return
    for key in keys:
        if key not in _REQUIRED:
            continue
        side, _, name = key.rpartition(".")
        side = side or "requests"
        for path, container in pod.containers_with_resources():
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
