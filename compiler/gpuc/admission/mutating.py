"""Changes of a new Pod that the API server makes before its validation: defaults and built-in admission plugins.

Source: k8s.io/kubernetes v1.35.4 pkg/kubeapiserver/options/plugins.go (order of the plugins), plugin/pkg/admission,
pkg/apis/core/v1/defaults.go (SetDefaults_Pod, defaultHugePagePodLimits, defaultPodRequests),
pkg/apis/core/helper/helpers.go (AddOrUpdateTolerationInPod), pkg/util/tolerations/tolerations.go (MergeTolerations).
EKS enables the plugins of https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html, among them
ExtendedResourceToleration.
"""

import marshal
from collections.abc import Callable
from itertools import product
from typing import Any

from gpuc.admission.documents import CONTAINERS, in_namespace, is_pod, namespace_of
from gpuc.admission.limit_ranges import container_defaults
from gpuc.admission.request import Request
from gpuc.kubernetes.amounts import HUGE_PAGES
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.pod_resources import Resources, Side, is_extended, of_containers, quantity_text

DEFAULT_SERVICE_ACCOUNT = "default"
_LIMIT_RANGER = "kubernetes.io/limit-ranger"
_KINDS = {"containers": "container", "initContainers": "init container"}
_TOKEN_VOLUME = "kube-api-access-"
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
BUILT_IN_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The values of the PriorityClasses that every cluster has.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/scheduling/types.go and v1/helpers.go
"""


def mutated(objects: ObjectSet, request: Request) -> Request:
    """Returns a request with the changes of the built-in admission plugins. Only a request about a Pod changes.

    The function first sets the API server's default requests and limits, because LimitRanges depend on them. In a
    cluster, the name of the volume with the token of the ServiceAccount ends with random characters. Here the name
    always has the same end.
    """
    if not is_pod(request.document) or not isinstance(request.document.get("spec"), dict):
        return request
    document = {**request.document, "spec": _copied(request.document["spec"])}
    if note := _admit(objects, namespace_of(document), document["spec"]):
        metadata = dict(pairs(document.get("metadata")))
        document["metadata"] = {**metadata, "annotations": {**dict(pairs(metadata.get("annotations"))), **note}}
    return request._replace(document=document)


def admitted_pod(objects: ObjectSet, namespace: str, pod: Any) -> Any:
    """Returns the spec of a pod with the changes of the built-in admission plugins, which `mutated` makes."""
    if not isinstance(pod, dict):
        return pod
    spec = _copied(pod)
    _admit(objects, namespace, spec)
    return spec


def _admit(objects: ObjectSet, namespace: str, spec: Body) -> dict[str, str]:
    """Makes the changes in the spec of a pod, and returns the annotation that the plugin of LimitRanges adds."""
    set_default_requests(spec)
    note = _limit_ranger(objects, namespace, spec)
    for change in _PLUGINS:
        change(objects, namespace, spec)
    return note


def queued_pod(objects: ObjectSet, namespace: str, pod: Any) -> Any:
    """Returns the spec of the pods of a queued job, with the requests that Kueue counts before the pods exist.

    For a missing request, Kueue uses the default of a LimitRange; only without a default, it uses the container's
    limit.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/workload/resources.go (AdjustResources)
    """
    if not isinstance(pod, dict):
        return pod
    spec = _copied(pod)
    _limit_ranger(objects, namespace, spec)
    for owner in (*containers(spec), spec):
        use_limits(owner)
    _overhead(objects, spec)
    return spec


def _copied(data: Any) -> Any:
    """Returns a copy of plain data. The function needs a tenth of the time of deepcopy."""
    return marshal.loads(marshal.dumps(data))


def _limit_ranger(objects: ObjectSet, namespace: str, spec: Body) -> dict[str, str]:
    """Sets the default requests and limits of the LimitRanges. If several of them have a default, the first counts.

    Returns the annotation with which the plugin names the defaults of the last LimitRange; empty without defaults.
    """
    rows = [(kind, row) for field, kind in _KINDS.items() for _, row in items(spec.get(field)) if isinstance(row, dict)]
    note: dict[str, str] = {}
    for manifest in in_namespace(objects, "LimitRange", namespace):
        requests, limits = container_defaults(manifest)
        sides: tuple[tuple[Side, Resources], ...] = (("requests", requests), ("limits", limits))
        added = list[str]()
        for (kind, container), (side, defaults) in product(rows, sides):
            own = resources_of(container, side) if defaults else {}
            if names := sorted(defaults.keys() - own.keys()):
                add_missing(own, defaults)
                added.append(f"{', '.join(names)} {side[:-1]} for {kind} {container.get('name')}")
        note = {_LIMIT_RANGER: f"LimitRanger plugin set: {'; '.join(added)}"} if added else note
    return note


def _service_account(objects: ObjectSet, namespace: str, spec: Body) -> None:
    """Sets the ServiceAccount, its image pull secrets, and the volume with its token."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT_SERVICE_ACCOUNT
    spec["serviceAccountName"] = name
    account = objects.find("", "ServiceAccount", str(name), namespace)
    body = account.body if account is not None else {}
    secrets = [{"name": dig(secret, "name")} for _, secret in items(body.get("imagePullSecrets"))]
    if secrets and not spec.get("imagePullSecrets"):
        spec["imagePullSecrets"] = secrets
    mounts = spec.get("automountServiceAccountToken")
    if mounts is None:
        mounts = body.get("automountServiceAccountToken")
    if mounts is not False:
        _mount_token(spec)


def _mount_token(spec: Body) -> None:
    """Mounts the token of the ServiceAccount in all containers that do not mount another volume at its path."""
    volumes = [volume for _, volume in items(spec.get("volumes"))]
    names = [str(dig(volume, "name")) for volume in volumes]
    name = next((name for name in names if name.startswith(_TOKEN_VOLUME)), f"{_TOKEN_VOLUME}xxxxx")
    is_mounted = False
    for container in containers(spec):
        mounts = [mount for _, mount in items(container.get("volumeMounts"))]
        if all(dig(mount, "mountPath") != _TOKEN_PATH for mount in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _TOKEN_PATH}]
            is_mounted = True
    if is_mounted and name not in names:
        root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
        field = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}
        sources = [token, {"configMap": root}, {"downwardAPI": {"items": [field]}}]
        spec["volumes"] = [*volumes, {"name": name, "projected": {"defaultMode": 0o644, "sources": sources}}]


def _priority(objects: ObjectSet, namespace: str, spec: Body) -> None:
    """Sets the priority of the PriorityClass. A missing PriorityClass changes nothing, and denies the pod later."""
    del namespace  # PriorityClasses are cluster-scoped
    name = spec.get("priorityClassName")
    if not name:
        defaults = [
            (int(value), manifest.name)
            for manifest in objects.of("scheduling.k8s.io", "PriorityClass")
            if manifest.body.get("globalDefault") is True and isinstance(value := manifest.body.get("value"), int)
        ]
        if defaults:
            name = spec["priorityClassName"] = min(defaults)[1]
    manifest = objects.find("scheduling.k8s.io", "PriorityClass", str(name)) if name else None
    if name and manifest is None and str(name) not in BUILT_IN_PRIORITIES:
        return
    body = manifest.body if manifest is not None else {"value": BUILT_IN_PRIORITIES.get(str(name), 0)}
    spec.setdefault("priority", body.get("value", 0))
    spec.setdefault("preemptionPolicy", body.get("preemptionPolicy") or "PreemptLowerPriority")


def _toleration_seconds(objects: ObjectSet, namespace: str, spec: Body) -> None:
    """Adds the two default tolerations: a pod stays for 300 seconds on a node that is not ready or not reachable."""
    del objects, namespace
    declared = [toleration for _, toleration in items(spec.get("tolerations"))]
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        is_tolerated = any(
            dig(toleration, "key") in (key, "", None) and dig(toleration, "effect") in ("NoExecute", "", None)
            for toleration in declared
        )
        if not is_tolerated:
            added = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            spec["tolerations"] = [*(toleration for _, toleration in items(spec.get("tolerations"))), added]


def _device_tolerations(objects: ObjectSet, namespace: str, spec: Body) -> None:
    """Adds a toleration for every extended resource that the pod requests. The key is the name of the resource."""
    del objects, namespace
    names = {
        str(name)
        for container in containers(spec)
        for name, _ in pairs(dig(container, "resources", "requests"))
        if is_extended(str(name))
    }
    for name in sorted(names):
        added = {"key": name, "operator": "Exists", "effect": "NoSchedule"}
        spec["tolerations"] = add_or_update(spec.get("tolerations"), added)


def _runtime_class(objects: ObjectSet, namespace: str, spec: Body) -> None:
    """Sets the overhead, the node selector and the tolerations of the RuntimeClass."""
    del namespace  # RuntimeClasses are cluster-scoped
    manifest = _overhead(objects, spec)
    if manifest is None:
        return
    scheduling = manifest.body.get("scheduling")
    if isinstance(scheduling, dict):
        selector = {**dict(pairs(scheduling.get("nodeSelector"))), **dict(pairs(spec.get("nodeSelector")))}
        if selector:
            spec["nodeSelector"] = selector
        spec["tolerations"] = merge(spec.get("tolerations"), scheduling.get("tolerations"))


def _overhead(objects: ObjectSet, spec: Body) -> Manifest | None:
    """Sets the overhead of the RuntimeClass, and returns the RuntimeClass; None if it does not exist."""
    name = spec.get("runtimeClassName")
    manifest = objects.find("node.k8s.io", "RuntimeClass", str(name)) if name else None
    overhead = dig(manifest.body if manifest is not None else None, "overhead", "podFixed")
    if overhead and not spec.get("overhead"):
        spec["overhead"] = _copied(overhead)
    return manifest


_PLUGINS: tuple[Callable[[ObjectSet, str, Body], None], ...] = (
    _service_account, _priority, _toleration_seconds, _device_tolerations, _runtime_class,
)  # fmt: skip
"""The plugins that change Pods after the plugin of LimitRanges, in the order of the API server."""


_IDENTITY = ("key", "operator", "value", "effect")


def add_or_update(tolerations: Any, added: Body) -> list[Any]:
    """Returns a list of tolerations with a further toleration.

    The further toleration replaces a toleration with the same key, value and effect.
    """
    declared = [toleration for _, toleration in items(tolerations)]
    same = [all((dig(old, field) or "") == (added.get(field) or "") for field in _IDENTITY) for old in declared]
    updated = [added if is_same else old for old, is_same in zip(declared, same, strict=True)]
    return updated if any(same) else [*updated, added]


def merge(first: Any, second: Any) -> list[Any]:
    """Returns the tolerations of two lists. A toleration is left out if another toleration includes it."""
    every = [toleration for tolerations in (first, second) for _, toleration in items(tolerations)]
    merged: list[Any] = []
    for number, toleration in enumerate(every):
        is_known = any(_includes(old, toleration) for old in merged)
        later = (other for other in every[number + 1 :] if other != toleration)
        if not is_known and not any(_includes(other, toleration) for other in later):
            merged.append(toleration)
    return merged


def _includes(wide: Any, narrow: Any) -> bool:
    """Returns whether a toleration tolerates all taints that another one tolerates."""
    if wide == narrow:
        return True
    wide_key, wide_operator, wide_value, wide_effect = (dig(wide, field) or "" for field in _IDENTITY)
    key, operator, value, effect = (dig(narrow, field) or "" for field in _IDENTITY)
    if key != wide_key and (wide_key or wide_operator != "Exists"):
        return False
    if wide_effect not in ("", effect):
        return False
    longest, seconds = dig(wide, "tolerationSeconds"), dig(narrow, "tolerationSeconds")
    if wide_effect == "NoExecute" and longest is not None and (seconds is None or seconds > longest):
        return False
    if wide_operator == "Exists":
        return True
    return bool(wide_operator in ("", "Equal") and operator == "Equal" and value == wide_value)


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
    """Returns the map `requests` or `limits` of a container or a pod. If there is no map, the function adds a map.

    The caller may change the map.
    """
    resources = owner.get("resources")
    if not isinstance(resources, dict):
        resources = owner["resources"] = {}
    if not isinstance(resources.get(side), dict):
        resources[side] = {}
    values: dict[str, Any] = resources[side]
    return values


def add_missing(target: dict[str, Any], values: dict[str, Any]) -> None:
    """Adds entries to the map `target`. Keys that `target` has already keep their value."""
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
