"""What containers ask for and offer: amounts that the API server refuses, and ports that nobody has."""

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
    "A container asks for resources in a way that the API server refuses.",
    "No pod of it is ever made: the event stands at its controller, and nothing is Pending.",
    "kubernetes v1.35, pkg/apis/core/validation/validation.go (ValidateContainerResourceRequirements)",
)
REFUSED_DEFAULTS = declare_rule(
    "OBJ021",
    Severity.ERROR,
    "A LimitRange's bounds and defaults contradict each other.",
    "The API server refuses it, and the namespace has no defaults.",
    "kubernetes v1.35, pkg/apis/core/validation/validation.go (ValidateLimitRange)",
)
NO_PORT = declare_rule(
    "OBJ022",
    Severity.ERROR,
    "A probe, a Service or a monitor names a port that is not there.",
    "The probe fails and the container is never ready; the Service sends nothing to the pods; nothing is scraped.",
    "kubernetes v1.35, pkg/kubelet/prober and staging/src/k8s.io/endpointslice/utils.go (FindPort)",
)
_NATIVE = frozenset(("cpu", "memory", "ephemeral-storage"))
_PAGES = {"hugepages-2Mi": 2 * 2**20, "hugepages-1Gi": 2**30}
_ORDER = ("min", "defaultRequest", "default", "max")
"""Of the maps of a LimitRange: none may be above one behind it."""
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Amounts of containers and LimitRanges, then the names of ports."""
    defaults = _defaults(index)
    for each in index.pods:
        for path, container in each.containers():
            yield from _amounts(each, path, container, defaults.get(each.manifest.namespace, {}))
            yield from _probes(each, path, container)
    for manifest in index.tree.of("", "LimitRange"):
        yield from _bounds(manifest)
    pods: dict[str, list[Pods]] = {}
    for each in index.pods:
        pods.setdefault(each.manifest.namespace, []).append(each)
    services: dict[str, list[Manifest]] = {}
    for service in index.tree.of("", "Service"):
        services.setdefault(service.namespace, []).append(service)
        yield from _targets(service, pods.get(service.namespace, []))
    for monitor in index.tree.of("monitoring.coreos.com", "ServiceMonitor"):
        yield from _endpoints(monitor, services.get(monitor.namespace, []))


def _amounts(each: Pods, path: Path, container: Any, defaults: dict[str, Any]) -> Iterator[ObjectFinding]:
    limits, requests = (dict(pairs(dig(container, "resources", part))) for part in ("limits", "requests"))
    for part, asked in (("limits", limits), ("requests", requests)):
        for name, value in asked.items():
            if message := _refused(name, value):
                yield ObjectFinding(REFUSED_AMOUNT, each.manifest, (*path, "resources", part, name), message)
    for name, value in requests.items():
        wanted, most = quantity(value), quantity(limits.get(name, defaults.get(name)))
        place, shown = (*path, "resources", "requests", name), limits.get(name, defaults.get(name))
        if wanted is None:
            continue
        if name in _NATIVE or "kubernetes.io/" in str(name):
            if most is not None and wanted > most:
                given = "" if name in limits else ", which the namespace's LimitRange gives it,"
                message = f"{value} is more than the limit{given} of {shown}"
                yield ObjectFinding(REFUSED_AMOUNT, each.manifest, place, message)
        elif name not in {**limits, **defaults}:
            yield ObjectFinding(REFUSED_AMOUNT, each.manifest, place, "needs a limit of the same amount, and has none")
        elif most is not None and wanted != most:
            message = f"{value} is not the limit of {shown}: of devices and huge pages both are the same"
            yield ObjectFinding(REFUSED_AMOUNT, each.manifest, place, message)
    yield from _huge_pages(each, path, {**limits, **requests}, defaults)


def _huge_pages(each: Pods, path: Path, asked: dict[str, Any], defaults: dict[str, Any]) -> Iterator[ObjectFinding]:
    pages = next((name for name in asked if name.startswith("hugepages-")), None)
    if pages is not None and not {"cpu", "memory"} & ({*asked} | {*defaults}):
        message = "huge pages need a request of cpu or memory beside them"
        yield ObjectFinding(REFUSED_AMOUNT, each.manifest, (*path, "resources"), message)


def _refused(name: Any, value: Any) -> str:
    """Why one amount is refused by itself."""
    found = quantity(value)
    if not isinstance(name, str) or name in _NATIVE or found is None:
        return ""
    if page := _PAGES.get(name):
        return f"{value} is no multiple of the page" if found % page else ""
    if name.startswith("hugepages-"):
        return ""
    if "/" not in name:
        return f"no resource of a container is called {name}; those of devices have a domain, as nvidia.com/gpu has"
    return f"{value} is no whole number" if found % 1 else ""


def _defaults(index: Index) -> dict[str, dict[str, Any]]:
    """By namespace the limits that containers get which name none; of several LimitRanges nobody knows which."""
    found: dict[str, list[dict[str, Any]]] = {}
    for manifest in index.tree.of("", "LimitRange"):
        for _, each in items(dig(manifest.body, "spec", "limits")):
            if manifest.namespace and dig(each, "type") == "Container":
                found.setdefault(manifest.namespace, []).append(dict(pairs(dig(each, "default"))))
    return {namespace: each[0] for namespace, each in found.items() if len(each) == 1}


def _bounds(manifest: Manifest) -> Iterator[ObjectFinding]:
    for number, each in items(dig(manifest.body, "spec", "limits")):
        maps = [(part, dict(pairs(dig(each, part)))) for part in _ORDER]
        for first, (low, below) in enumerate(maps):
            for high, above in maps[first + 1 :]:
                for name in below:
                    small, large = quantity(below[name]), quantity(above.get(name))
                    if small is not None and large is not None and small > large:
                        message = f"{below[name]} is more than the {high} of {above[name]}"
                        yield ObjectFinding(REFUSED_DEFAULTS, manifest, ("spec", "limits", number, low, name), message)


def _ports(container: Any) -> set[str]:
    return {name for _, port in items(dig(container, "ports")) if isinstance(name := dig(port, "name"), str)}


def _probes(each: Pods, path: Path, container: Any) -> Iterator[ObjectFinding]:
    for probe in _PROBES:
        for action in ("httpGet", "tcpSocket"):
            name = dig(container, probe, action, "port")
            if isinstance(name, str) and not name.isdigit() and name not in (known := _ports(container)):
                place = (*path, probe, action, "port")
                yield _no_port(each.manifest, place, name, known, "the container")


def _targets(service: Manifest, pods: list[Pods]) -> Iterator[ObjectFinding]:
    """Named ports of a Service, where the tree has the pods that it selects."""
    selected = equal_labels(dig(service.body, "spec", "selector"))
    chosen = [each for each in pods if selected and matches(selected, each.labels)]
    known = {name for each in chosen for _, container in each.containers() for name in _ports(container)}
    for number, port in items(dig(service.body, "spec", "ports")) if chosen else ():
        name = dig(port, "targetPort")
        if isinstance(name, str) and not name.isdigit() and name not in known:
            yield _no_port(service, ("spec", "ports", number, "targetPort"), name, known, "the pods that it selects")


def _endpoints(monitor: Manifest, services: list[Manifest]) -> Iterator[ObjectFinding]:
    """Named ports of a ServiceMonitor, where the tree has the services that it selects in its own namespace."""
    selected = selector(dig(monitor.body, "spec", "selector"))
    if not selected or dig(monitor.body, "spec", "namespaceSelector"):
        return
    chosen = [each for each in services if matches(selected, labels(each.labels))]
    ports = [port for each in chosen for _, port in items(dig(each.body, "spec", "ports"))]
    known = {name for port in ports if isinstance(name := dig(port, "name"), str)}
    for number, endpoint in items(dig(monitor.body, "spec", "endpoints")) if chosen else ():
        name = dig(endpoint, "port")
        if isinstance(name, str) and name not in known:
            yield _no_port(monitor, ("spec", "endpoints", number, "port"), name, known, "the services that it selects")


def _no_port(manifest: Manifest, path: Path, name: str, known: set[str], who: str) -> ObjectFinding:
    near = misspelt(name, known)
    there = f"there {'is' if len(known) == 1 else 'are'} {', '.join(sorted(known))}" if known else "there is none"
    return ObjectFinding(NO_PORT, manifest, path, f'no port of {who} is called "{name}"; {there}', write(near))
