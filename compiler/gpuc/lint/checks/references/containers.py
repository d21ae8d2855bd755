import os
from collections.abc import Iterable
from itertools import product
from typing import Any, TypeVar

from gpuc.admission.validation.field import Field
from gpuc.admission.validation.pods import PROBES
from gpuc.admission.validation.resources import requirements
from gpuc.cluster.index import Index
from gpuc.cluster.monitor import Monitor, monitors
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.network_policy import EGRESS, INGRESS
from gpuc.kubernetes.selector import matches
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import Policy
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, by_first, dig, group, grouped, home_namespace, items, labels, pairs
from gpuc.objects.other_policies import enforced_policies
from gpuc.objects.pods import Pods
from gpuc.objects.selectors import equal_labels

Value = TypeVar("Value", str, int)
REFUSED_AMOUNT = rule_of("OBJ020")
NO_PORT = rule_of("OBJ022")


@check(REFUSED_AMOUNT, NO_PORT)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about wrong amounts of resources, and about names of ports that no container has."""
    index = objects.once(Index)
    defaults = _defaults(index)
    workloads = grouped(index.pods, lambda pods: home_namespace(pods.manifest))
    for pods in index.pods:
        for path, container in pods.containers():
            yield from _amounts(pods, path, container, defaults.get(pods.manifest.namespace, {}))
            yield from _probes(pods, path, container)
    services = index.tree.of("", "Service")
    for service in services:
        yield from _targets(service, workloads.get(home_namespace(service), []))
    for policy in objects.once(enforced_policies):
        own = policy.namespace
        yield from _policy(policy, workloads.get(own, []), [row for row in services if home_namespace(row) == own])
    for monitor in index.tree.once(monitors):
        if monitor.kind == "ServiceMonitor":
            own = home_namespace(monitor.manifest)
            yield from _endpoints(monitor, [service for service in services if home_namespace(service) == own])


def _amounts(pods: Pods, path: Path, container: Any, defaults: dict[str, Any]) -> Findings:
    limits, requests = (dict(pairs(dig(container, "resources", field))) for field in ("limits", "requests"))
    added = {name: value for name, value in defaults.items() if name not in limits}
    resources = {"limits": {**limits, **added}, "requests": requests}
    for problem in requirements(Field((*path, "resources"), resources)):
        is_default = problem.field[-1] in added
        origin = ", which the LimitRange of the namespace sets" if is_default else ""
        if not is_default or problem.field[-2] == "requests":
            needs = None if problem.field[-1] in ("limits", "resources") else ""  # one of the amounts is missing
            message = problem.message + origin
            yield ObjectFinding(REFUSED_AMOUNT, pods.manifest, problem.field, message, problem.fix, needs=needs)


def _defaults(index: Index) -> dict[str, dict[str, Any]]:
    """Returns the default limits of containers by namespace. Namespaces with several LimitRanges are left out."""
    ranges = ((row.namespace, items(dig(row.body, "spec", "limits"))) for row in index.tree.of("", "LimitRange"))
    limits = ((namespace, limit) for namespace, rows in ranges for _, limit in rows if namespace)
    by_namespace = by_first((name, limit) for name, limit in limits if dig(limit, "type") == "Container")
    return {name: dict(pairs(dig(rows[0], "default"))) for name, rows in by_namespace.items() if len(rows) == 1}


def _ports(owners: Iterable[Any], field: str, kind: type[Value]) -> set[Value]:
    """Returns the values of a field of all ports of containers, or of specs of Services."""
    ports = (port for owner in owners for _, port in items(dig(owner, "ports")))
    return {value for port in ports if isinstance(value := dig(port, field), kind)}


def _containers(workloads: Iterable[Pods]) -> list[Any]:
    return [container for pods in workloads for _, container in pods.containers()]


def _selects(service: Manifest, pods: Pods) -> bool:
    selected = equal_labels(dig(service.body, "spec", "selector"))
    return bool(selected) and matches(selected, pods.labels)


def _probes(pods: Pods, path: Path, container: Any) -> Findings:
    known = _ports([container], "name", str)
    for steps in product(PROBES, ("httpGet", "tcpSocket"), ("port",)):
        yield from _no_port(pods.manifest, (*path, *steps), _name(dig(container, *steps)), known, "the container")


def _targets(service: Manifest, workloads: list[Pods]) -> Findings:
    """Yields findings about named ports that no selected pod has, for a Service that selects pods of the input."""
    chosen = [pods for pods in workloads if _selects(service, pods)]
    known = _ports(_containers(chosen), "name", str)
    for number, port in items(dig(service.body, "spec", "ports")) if chosen else ():
        path = ("spec", "ports", number, "targetPort")
        yield from _no_port(service, path, _name(dig(port, "targetPort")), known, "the selected pods")


def _policy(policy: Policy, workloads: list[Pods], services: list[Manifest]) -> Findings:
    """Yields findings about ports that no pod of a rule has: names, and ports of Services, which the rule never sees.

    Only rules about pods of the policy's namespace are checked.

    Source: k8s.io/api v0.35 networking/v1 NetworkPolicyPort; kubernetes.io/docs/reference/networking/virtual-ips
    """
    ends = [(rule, policy.pods) for rule in policy.rules.get(INGRESS, ())]
    ends += [(rule, peer.pods) for _, rule, peer in policy.peers(EGRESS) if peer.namespaces is None]
    for rule, wanted in ends:
        chosen = [pods for pods in workloads if wanted and matches(wanted, pods.labels)]
        if not chosen or any("." in group(pods.manifest) for pods in chosen):  # a controller may add ports
            continue
        containers = _containers(chosen)
        known, numbers = _ports(containers, "name", str), _ports(containers, "containerPort", int)
        behind = [row for row in services if any(_selects(row, pods) for pods in chosen)]
        for span in dict.fromkeys(rule.ports):
            yield from _no_port(policy.manifest, rule.path, span.name, known, "the selected pods")
            ports = [(row, port) for row in behind for _, port in items(dig(row.body, "spec", "ports"))]
            same = [(row, dig(port, "targetPort")) for row, port in ports if dig(port, "port") == span.low == span.high]
            if same and span.low not in numbers and all(target not in (None, span.low) for _, target in same):
                row, target = same[0]
                message = f"{span.low} is the port of {row}; its pods get connections on {target}"
                yield ObjectFinding(NO_PORT, policy.manifest, rule.path, message)


def _endpoints(monitor: Monitor, services: list[Manifest]) -> Findings:
    """Yields findings about named ports that no selected Service has.

    Only monitors that select a Service of the input in their own namespace are checked.
    """
    if not monitor.selector or monitor.is_everywhere or monitor.namespaces != [home_namespace(monitor.manifest)]:
        return
    chosen = [service for service in services if monitor.selects(labels(service.labels))]
    known = _ports((dig(service.body, "spec") for service in chosen), "name", str)
    # The controller of another folder may make the Service with the port, as Rook's operator does.
    folders = {os.path.dirname(row.file) for row in chosen}
    needs = None if os.path.dirname(monitor.manifest.file) in folders else "labels of Services"
    for path, name in monitor.ports if chosen else ():
        yield from _no_port(monitor.manifest, path, name, known, "the selected services", needs)


def _name(port: Any) -> str:
    return port if isinstance(port, str) and not port.isdigit() else ""


def _no_port(
    manifest: Manifest, path: Path, name: str, known: set[str], owner: str, needs: str | None = None
) -> Findings:
    if name and name not in known:
        ports = f"the named ports are {', '.join(sorted(known))}" if known else "no port has a name"
        message = f'no port of {owner} has the name "{name}"; {ports}'
        yield ObjectFinding(NO_PORT, manifest, path, message, write(misspelt(name, known)), needs=needs)
