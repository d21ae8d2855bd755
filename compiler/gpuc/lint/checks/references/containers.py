"""Resources and ports of containers: amounts that the API server refuses, and ports that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items, labels, pairs
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
    """Amounts of containers and LimitRanges, then the names of ports."""
    defaults = _defaults(index)
    workloads: dict[str, list[Pods]] = {}
    for pods in index.pods:
        workloads.setdefault(pods.manifest.namespace, []).append(pods)
        for path, container in pods.containers():
            yield from _amounts(pods, path, container, defaults.get(pods.manifest.namespace, {}))
            yield from _probes(pods, path, container)
    for manifest in index.tree.of("", "LimitRange"):
        yield from _bounds(manifest)
    services: dict[str, list[Manifest]] = {}
    for service in index.tree.of("", "Service"):
        services.setdefault(service.namespace, []).append(service)
        yield from _targets(service, workloads.get(service.namespace, []))
    for monitor in index.tree.of("monitoring.coreos.com", "ServiceMonitor"):
        yield from _endpoints(monitor, services.get(monitor.namespace, []))


def _amounts(pods: Pods, path: Path, container: Any, defaults: dict[str, Any]) -> Iterator[ObjectFinding]:
    limits, requests = (dict(pairs(dig(container, "resources", part))) for part in ("limits", "requests"))
    for part, requested in (("limits", limits), ("requests", requests)):
        for name, value in requested.items():
            if message := _refused(name, value):
                yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, (*path, "resources", part, name), message)
    for name, value in requests.items():
        wanted, most = quantity(value), quantity(limits.get(name, defaults.get(name)))
        place, shown = (*path, "resources", "requests", name), limits.get(name, defaults.get(name))
        if wanted is None:
            continue
        if name in _NATIVE or "kubernetes.io/" in str(name):
            if most is not None and wanted > most:
                origin = "" if name in limits else ", which the LimitRange of the namespace sets"
                message = f"{value} is more than the limit of {shown}{origin}"
                yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, place, message)
        elif name not in {**limits, **defaults}:
            yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, place, "a limit of the same amount is missing")
        elif most is not None and wanted != most:
            message = f"{value} is not the limit of {shown}; they must be equal for devices and huge pages"
            yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, place, message)
    yield from _huge_pages(pods, path, {**limits, **requests}, defaults)


def _huge_pages(pods: Pods, path: Path, requested: dict[str, Any], defaults: dict[str, Any]) -> Iterator[ObjectFinding]:
    pages = next((name for name in requested if name.startswith("hugepages-")), None)
    if pages is not None and not {"cpu", "memory"} & ({*requested} | {*defaults}):
        message = "huge pages need a request for cpu or memory in the same container"
        yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, (*path, "resources"), message)


def _refused(name: Any, value: Any) -> str:
    """Why the API server refuses an amount, whatever the other amounts are; empty where it accepts the amount."""
    found = quantity(value)
    if not isinstance(name, str) or name in _NATIVE or found is None:
        return ""
    if page := _PAGES.get(name):
        return f"{value} is not a multiple of the page size" if found % page else ""
    if name.startswith("hugepages-"):
        return ""
    if "/" not in name:
        return f"containers have no resource {name}; the name of a device has a domain, as in nvidia.com/gpu"
    return f"{value} is not an integer" if found % 1 else ""


def _defaults(index: Index) -> dict[str, dict[str, Any]]:
    """Default limits of containers by namespace; namespaces with several LimitRanges are left out."""
    found: dict[str, list[dict[str, Any]]] = {}
    for manifest in index.tree.of("", "LimitRange"):
        for _, limit in items(dig(manifest.body, "spec", "limits")):
            if manifest.namespace and dig(limit, "type") == "Container":
                found.setdefault(manifest.namespace, []).append(dict(pairs(dig(limit, "default"))))
    return {namespace: maps[0] for namespace, maps in found.items() if len(maps) == 1}


def _bounds(manifest: Manifest) -> Iterator[ObjectFinding]:
    for number, limit in items(dig(manifest.body, "spec", "limits")):
        maps = [(part, dict(pairs(dig(limit, part)))) for part in _ORDER]
        for first, (low, below) in enumerate(maps):
            for high, above in maps[first + 1 :]:
                for name in below:
                    small, large = quantity(below[name]), quantity(above.get(name))
                    if small is not None and large is not None and small > large:
                        message = f"{below[name]} is more than the {high} of {above[name]}"
                        yield ObjectFinding(REFUSED_DEFAULTS, manifest, ("spec", "limits", number, low, name), message)


def _ports(container: Any) -> set[str]:
    return {name for _, port in items(dig(container, "ports")) if isinstance(name := dig(port, "name"), str)}


def _probes(pods: Pods, path: Path, container: Any) -> Iterator[ObjectFinding]:
    for probe in _PROBES:
        for action in ("httpGet", "tcpSocket"):
            name = dig(container, probe, action, "port")
            if isinstance(name, str) and not name.isdigit() and name not in (known := _ports(container)):
                place = (*path, probe, action, "port")
                yield _no_port(pods.manifest, place, name, known, "the container")


def _targets(service: Manifest, workloads: list[Pods]) -> Iterator[ObjectFinding]:
    """Named ports of a Service, where the input has pods that the Service selects."""
    selected = equal_labels(dig(service.body, "spec", "selector"))
    chosen = [pods for pods in workloads if selected and matches(selected, pods.labels)]
    known = {name for pods in chosen for _, container in pods.containers() for name in _ports(container)}
    for number, port in items(dig(service.body, "spec", "ports")) if chosen else ():
        name = dig(port, "targetPort")
        if isinstance(name, str) and not name.isdigit() and name not in known:
            yield _no_port(service, ("spec", "ports", number, "targetPort"), name, known, "the selected pods")


def _endpoints(monitor: Manifest, services: list[Manifest]) -> Iterator[ObjectFinding]:
    """Named ports of a ServiceMonitor, where the input has services that it selects in its own namespace."""
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
