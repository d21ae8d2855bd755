"""Requests and limits of containers and of pods, which all containers of a pod share.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validateResourceRequirements,
validatePodResources, validatePodResourceConsistency), pkg/apis/core/helper/helpers.go;
k8s.io/component-helpers v0.35.4 resource/helpers.go (AggregateContainerRequests)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from gpuc.admission.validation.problem import Problem, Problems, dns_label, missing, rows, shown, text
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import HUGE_PAGES
from gpuc.kubernetes.dns_name import is_label_key
from gpuc.kubernetes.quantity import format_quantity, parse_quantity, quantity
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.pod_resources import is_extended, of_containers, quantities

STANDARD = ("cpu", "memory", "ephemeral-storage")
_NATIVE = "kubernetes.io/"
_MISSPELT = {"gpu": "nvidia.com/gpu", "gpus": "nvidia.com/gpu", "nvidia-gpu": "nvidia.com/gpu"}
NameCheck = Callable[[Path, str], Problems]


def cannot_overcommit(name: str) -> bool:
    """Returns whether the request of a resource must be equal to the limit."""
    return ("/" in name and _NATIVE not in name) or name.startswith(HUGE_PAGES)


def container_resource(path: Path, name: str) -> Problems:
    """Checks the name of a resource of a container."""
    if not is_label_key(name):
        yield Problem(path, f"{shown(name)} is not the name of a resource")
    elif "/" not in name:
        if name not in STANDARD and not name.startswith(HUGE_PAGES):
            allowed = ", ".join((*STANDARD, HUGE_PAGES + "2Mi"))
            meant = _MISSPELT.get(name.lower())
            yield Problem(
                path,
                f"containers have no resource {shown(name)}; expected {allowed} or a name with a domain",
                f"write {meant}" if meant else "",
            )
    elif _NATIVE not in name and not is_extended(name):
        yield Problem(path, f"{shown(name)} is not the name of an extended resource")


def pod_resource(path: Path, name: str) -> Problems:
    """Checks the name of a resource in the resources of a pod."""
    if name not in ("cpu", "memory") and not name.startswith(HUGE_PAGES):
        yield Problem(path, f"resources of pods have no {shown(name)}; expected cpu, memory or {HUGE_PAGES}2Mi")


def requirements(path: Path, value: Any, claims: set[str], names: NameCheck = container_resource) -> Problems:
    """Checks the requests, limits and claims of a container or a pod.

    Args:
        claims: the names of the pod's resource claims.
        names: the check of a resource's name.
    """
    limits, requests = (dict(pairs(dig(value, field))) for field in ("limits", "requests"))
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = (*path, field, name)
            yield from names(where, name)
            yield from _quantity(where, name, amount)
    for name, amount in requests.items():
        yield from _compared(path, name, amount, limits.get(name))
    resources = {*limits, *requests}
    pages = sorted(name for name in resources if name.startswith(HUGE_PAGES))
    if pages and not resources & {"cpu", "memory"}:
        yield Problem(path, f"{pages[0]} also needs a request or limit of cpu or memory")
    yield from _claims((*path, "claims"), dig(value, "claims"), claims)


def _quantity(path: Path, name: str, value: Any) -> Problems:
    amount = quantity(value)
    if amount is None:
        return
    if amount < 0:
        yield Problem(path, f"{name} is {value}; expected 0 or more")
    if is_extended(name) and (amount * 1000) % 1000 != 0:
        yield Problem(path, f"{name} is {value}; extended resources are integers")
    if name.startswith(HUGE_PAGES):
        yield from _huge_pages(path, name, amount)


def _huge_pages(path: Path, name: str, amount: Fraction) -> Problems:
    try:
        size = parse_quantity(name.removeprefix(HUGE_PAGES))
    except ValueError:
        size = Fraction(0)
    if size <= 0 or size.denominator != 1:
        yield Problem(path, f"{name} is not a size of huge pages; expected for example {HUGE_PAGES}2Mi")
    elif amount % size:
        yield Problem(path, f"the amount of {name} is not a multiple of {name.removeprefix(HUGE_PAGES)}")


def _compared(path: Path, name: str, request: Any, limit: Any) -> Problems:
    wanted, most = quantity(request), quantity(limit)
    if wanted is None:
        return
    if limit is None:
        if cannot_overcommit(name):
            message = f"{name} needs a limit, because Kubernetes does not overcommit this resource"
            yield Problem((*path, "limits"), message, f"set the limit {name}: {request}")
    elif most is None:
        return
    elif cannot_overcommit(name) and wanted != most:
        yield Problem(
            (*path, "requests", name), f"the request of {request} {name} must be equal to the limit of {limit}"
        )
    elif wanted > most:
        yield Problem((*path, "requests", name), f"the request of {request} {name} is more than the limit of {limit}")


def _claims(path: Path, claims: Any, known: set[str]) -> Problems:
    names: set[str] = set()
    for number, claim in items(claims):
        name, request = text(dig(claim, "name")), text(dig(claim, "request"))
        where = (*path, number)
        if not name:
            yield missing((*where, "name"))
            continue
        yield from dns_label((*where, "request"), request)
        key = f"{name}/{request}" if request else name
        if name in names or key in names or (not request and any(item.startswith(f"{name}/") for item in names)):
            yield Problem(where, f"two items name the resource claim {name}")
        names.add(key)
        if name not in known:
            yield Problem((*where, "name"), f"the pod has no resource claim {name}; known: {', '.join(sorted(known))}")


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
    for container_path, container in rows(path, spec, "containers"):
        for name, amount in quantities(dig(container, "resources", "limits")).items():
            if name in own["limits"] and amount > own["limits"][name]:
                most = format_quantity(own["limits"][name])
                message = f"the limit of the container is more than the pod's limit of {most} {name}"
                yield Problem((*container_path, "resources", "limits", name), message)
