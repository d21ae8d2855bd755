"""Resource amounts of containers that the API server refuses, and names of ports that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.cluster.index import Index
from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, home_namespace, items, labels, pairs
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import equal_labels, selector

REFUSED_AMOUNT = declare_rule(
    "OBJ020",
    Severity.ERROR,
    "The API server refuses the resources of a container.",
    "No pod is ever created. The event is recorded at the controller of the pods, and no pod is Pending.",
    "kubernetes v1.35, pkg/apis/core/validation/validation.go (ValidateContainerResourceRequirements)",
)
REFUSED_DEFAULTS = declare_rule(
    "OBJ021",
    Severity.ERROR,
    "The bounds and defaults of a LimitRange contradict each other.",
    "The API server refuses the LimitRange, and the namespace has no defaults.",
    "kubernetes v1.35, pkg/apis/core/validation/validation.go (ValidateLimitRange)",
)
NO_PORT = declare_rule(
    "OBJ022",
    Severity.ERROR,
    "A probe, a Service or a monitor names a port that does not exist.",
    "The probe fails and the container is never ready; the Service sends no traffic to the pods; nothing is scraped.",
    "kubernetes v1.35, pkg/kubelet/prober and staging/src/k8s.io/endpointslice/utils.go (FindPort)",
)
_NATIVE = frozenset(("cpu", "memory", "ephemeral-storage"))
_PAGES = {"hugepages-2Mi": 2 * 2**20, "hugepages-1Gi": 2**30}
_ORDER = ("min", "defaultRequest", "default", "max")
"""Fields of a LimitRange in rising order: no value may be above the value of a later field."""
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Yields findings about the amounts of containers and LimitRanges, and about names of ports."""
    defaults = _defaults(index)
    workloads: dict[str, list[Pods]] = {}
    for pods in index.pods:
        workloads.setdefault(home_namespace(pods.manifest), []).append(pods)
        for path, container in pods.containers():
            yield from _amounts(pods, path, container, defaults.get(pods.manifest.namespace, {}))
            yield from _probes(pods, path, container)
    for manifest in index.tree.of("", "LimitRange"):
        yield from _bounds(manifest)
    services: dict[str, list[Manifest]] = {}
    for service in index.tree.of("", "Service"):
        services.setdefault(home_namespace(service), []).append(service)
        yield from _targets(service, workloads.get(home_namespace(service), []))
    for monitor in index.tree.of("monitoring.coreos.com", "ServiceMonitor"):
        yield from _endpoints(monitor, services.get(home_namespace(monitor), []))


def _amounts(pods: Pods, path: Path, container: Any, defaults: dict[str, Any]) -> Iterator[ObjectFinding]:
    limits, requests = (dict(pairs(dig(container, "resources", field))) for field in ("limits", "requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, value in amounts.items():
            if message := _refusal(name, value):
                yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, (*path, "resources", field, name), message)
    for name, value in requests.items():
        written_limit = limits.get(name, defaults.get(name))
        request, limit = quantity(value), quantity(written_limit)
        request_path = (*path, "resources", "requests", name)
        if request is None:
            continue
        if name in _NATIVE or "kubernetes.io/" in str(name):
            if limit is not None and request > limit:
                origin = "" if name in limits else ", which the LimitRange of the namespace sets"
                message = f"the request of {value} is more than the limit of {written_limit}{origin}"
                yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, request_path, message)
        elif name not in {**limits, **defaults}:
            message = f"the container has no limit for {name}; devices and huge pages need a limit equal to the request"
            yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, request_path, message)
        elif limit is not None and request != limit:
            message = (
                f"the request of {value} differs from the limit of {written_limit}; requests and limits of devices "
            )
            message += "and huge pages must be equal"
            yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, request_path, message)
    yield from _huge_pages(pods, path, {**limits, **requests}, defaults)


def _huge_pages(pods: Pods, path: Path, requested: dict[str, Any], defaults: dict[str, Any]) -> Iterator[ObjectFinding]:
    pages = next((name for name in requested if name.startswith("hugepages-")), None)
    if pages is not None and not {"cpu", "memory"} & ({*requested} | {*defaults}):
        message = "huge pages need a request for cpu or memory in the same container"
        yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, (*path, "resources"), message)


def _refusal(name: Any, value: Any) -> str:
    """Returns the reason why the API server refuses an amount, or an empty string.

    The reason does not depend on other amounts of the container.
    """
    amount = quantity(value)
    if not isinstance(name, str) or name in _NATIVE or amount is None:
        return ""
    if page := _PAGES.get(name):
        return f"{value} is not a multiple of the page size" if amount % page else ""
    if name.startswith("hugepages-"):
        return ""
    if "/" not in name:
        return f"containers have no resource {name}; the name of a device has a domain, as in nvidia.com/gpu"
    return f"{value} is not an integer" if amount % 1 else ""


def _defaults(index: Index) -> dict[str, dict[str, Any]]:
    """Returns the default limits of containers by namespace. Namespaces with several LimitRanges are left out."""
    by_namespace: dict[str, list[dict[str, Any]]] = {}
    for manifest in index.tree.of("", "LimitRange"):
        for _, limit in items(dig(manifest.body, "spec", "limits")):
            if manifest.namespace and dig(limit, "type") == "Container":
                by_namespace.setdefault(manifest.namespace, []).append(dict(pairs(dig(limit, "default"))))
    return {namespace: defaults[0] for namespace, defaults in by_namespace.items() if len(defaults) == 1}


def _bounds(manifest: Manifest) -> Iterator[ObjectFinding]:
    for number, limit in items(dig(manifest.body, "spec", "limits")):
        bounds = [(field, dict(pairs(dig(limit, field)))) for field in _ORDER]
        for first, (low, lower) in enumerate(bounds):
            for high, upper in bounds[first + 1 :]:
                for name in lower:
                    small, large = quantity(lower[name]), quantity(upper.get(name))
                    if small is not None and large is not None and small > large:
                        message = f"{low} of {lower[name]} is more than {high} of {upper[name]}"
                        yield ObjectFinding(REFUSED_DEFAULTS, manifest, ("spec", "limits", number, low, name), message)


def _ports(container: Any) -> set[str]:
    return {name for _, port in items(dig(container, "ports")) if isinstance(name := dig(port, "name"), str)}


def _probes(pods: Pods, path: Path, container: Any) -> Iterator[ObjectFinding]:
    for probe in _PROBES:
        for action in ("httpGet", "tcpSocket"):
            name = dig(container, probe, action, "port")
            if isinstance(name, str) and not name.isdigit() and name not in (known := _ports(container)):
                port_path = (*path, probe, action, "port")
                yield _no_port(pods.manifest, port_path, name, known, "the container")


def _targets(service: Manifest, workloads: list[Pods]) -> Iterator[ObjectFinding]:
    """Yields findings about named ports that no selected pod has, for a Service that selects pods of the input."""
    selected = equal_labels(dig(service.body, "spec", "selector"))
    chosen = [pods for pods in workloads if selected and matches(selected, pods.labels)]
    known = {name for pods in chosen for _, container in pods.containers() for name in _ports(container)}
    for number, port in items(dig(service.body, "spec", "ports")) if chosen else ():
        name = dig(port, "targetPort")
        if isinstance(name, str) and not name.isdigit() and name not in known:
            yield _no_port(service, ("spec", "ports", number, "targetPort"), name, known, "the selected pods")


def _endpoints(monitor: Manifest, services: list[Manifest]) -> Iterator[ObjectFinding]:
    """Yields findings about named ports that no selected Service has.

    Only monitors that select a Service of the input in their own namespace are checked.
    """
    selected = selector(dig(monitor.body, "spec", "selector"))
    if not selected or dig(monitor.body, "spec", "namespaceSelector"):
        return
    chosen = [service for service in services if matches(selected, labels(service.labels))]
    ports = [port for service in chosen for _, port in items(dig(service.body, "spec", "ports"))]
    known = {name for port in ports if isinstance(name := dig(port, "name"), str)}
    for number, endpoint in items(dig(monitor.body, "spec", "endpoints")) if chosen else ():
        name = dig(endpoint, "port")
        if isinstance(name, str) and name not in known:
            yield _no_port(monitor, ("spec", "endpoints", number, "port"), name, known, "the selected services")


def _no_port(manifest: Manifest, path: Path, name: str, known: set[str], owner: str) -> ObjectFinding:
    suggestion = misspelt(name, known)
    ports = f"the named ports are {', '.join(sorted(known))}" if known else "no port has a name"
    message = f'no port of {owner} has the name "{name}"; {ports}'
    return ObjectFinding(NO_PORT, manifest, path, message, write(suggestion))
