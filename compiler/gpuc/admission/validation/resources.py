"""Checks the requests and limits of containers, and of complete pods.

A pod can have requests and limits for all of its containers together.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/validation/validation.go (validateResourceRequirements,
validatePodResources, validatePodResourceConsistency), pkg/apis/core/helper/helpers.go;
k8s.io/component-helpers v0.35.4 resource/helpers.go (AggregateContainerRequests)
"""

from collections.abc import Callable
from fractions import Fraction

from gpuc.admission.validation.constraints import dns_label
from gpuc.admission.validation.field import Field, Problems, shown, text
from gpuc.kubernetes.amounts import HUGE_PAGES
from gpuc.kubernetes.dns_name import is_label_key
from gpuc.kubernetes.quantity import format_quantity, parse_quantity, quantity
from gpuc.objects.pod_resources import is_extended, of_containers, quantities

STANDARD = ("cpu", "memory", "ephemeral-storage")
_NATIVE = "kubernetes.io/"
_MISSPELT = {"gpu": "nvidia.com/gpu", "gpus": "nvidia.com/gpu", "nvidia-gpu": "nvidia.com/gpu"}
NameCheck = Callable[[str, Field], Problems]


def cannot_overcommit(name: str) -> bool:
    """Returns whether the request of a resource must equal the limit in Kubernetes, as for GPUs and huge pages."""
    return ("/" in name and _NATIVE not in name) or name.startswith(HUGE_PAGES)


def _container_resource(name: str, field: Field) -> Problems:
    if not is_label_key(name):
        yield field.problem(f"{shown(name)} is not the name of a resource")
    elif "/" not in name:
        if name not in STANDARD and not name.startswith(HUGE_PAGES):
            expected = f"expected {', '.join((*STANDARD, HUGE_PAGES + '2Mi'))} or a name with a domain"
            meant = _MISSPELT.get(name.lower())
            fix = f"write {meant}" if meant else ""
            yield field.problem(f"containers have no resource {shown(name)}; {expected}", fix)
    elif _NATIVE not in name and not is_extended(name):
        yield field.problem(f"{shown(name)} is not the name of an extended resource")


def _pod_resource_name(name: str, field: Field) -> Problems:
    if name not in ("cpu", "memory") and not name.startswith(HUGE_PAGES):
        expected = f"expected cpu, memory or {HUGE_PAGES}2Mi"
        yield field.problem(f"resources of pods have no {shown(name)}; {expected}")


def _requirements_of_container(resources: Field) -> Problems:
    yield from requirements(resources)
    claims = {text(claim.get("name")) for claim in resources.within("pod").rows("resourceClaims")} - {""}
    yield from _claims(resources, claims)


def requirements(resources: Field, names: NameCheck = _container_resource) -> Problems:
    """Checks the requests and limits of a container or a pod.

    Args:
        names: the function that checks the name of each resource.
    """
    limits, requests = (dict(resources.entries(field)) for field in ("limits", "requests"))
    for amounts in (limits, requests):
        for name, field in amounts.items():
            yield from names(name, field)
            yield from _quantity(name, field)
    for name, request in requests.items():
        yield from _compared(name, request, resources.at("limits", name))
    pages = sorted(name for name in {*limits, *requests} if name.startswith(HUGE_PAGES))
    if pages and not {*limits, *requests} & {"cpu", "memory"}:
        yield resources.problem(f"{pages[0]} also needs a request or limit of cpu or memory")


def _quantity(name: str, field: Field) -> Problems:
    amount = quantity(field.value)
    if amount is None:
        return
    if amount < 0:
        yield field.problem(f"{name} is {field.value}; expected 0 or more")
    if is_extended(name) and (amount * 1000) % 1000 != 0:
        yield field.problem(f"{name} is {field.value}; extended resources are integers")
    if name.startswith(HUGE_PAGES):
        yield from _huge_pages(name.removeprefix(HUGE_PAGES), amount, field)


def _huge_pages(pages: str, amount: Fraction, field: Field) -> Problems:
    try:
        size = parse_quantity(pages)
    except ValueError:
        size = Fraction(0)
    if size <= 0 or size.denominator != 1:
        yield field.problem(f"{field.name} is not a size of huge pages; expected for example {HUGE_PAGES}2Mi")
    elif amount % size:
        yield field.problem(f"the amount of {field.name} is not a multiple of {pages}")


def _compared(name: str, request: Field, limit: Field) -> Problems:
    wanted, most = quantity(request.value), quantity(limit.value)
    if wanted is None:
        return
    if limit.value is None:
        if cannot_overcommit(name) and limit.owner is not None:
            message = f"{name} needs a limit, because Kubernetes does not overcommit this resource"
            yield limit.owner.at("limits").problem(message, f"set the limit {name}: {request.value}")
    elif most is None:
        return
    elif cannot_overcommit(name) and wanted != most:
        yield request.problem(f"the request of {request.value} {name} must be equal to the limit of {limit.value}")
    elif wanted > most:
        yield request.problem(f"the request of {request.value} {name} is more than the limit of {limit.value}")


def _claims(resources: Field, known: set[str]) -> Problems:
    names: set[str] = set()
    for claim in resources.rows("claims"):
        name, request = text(claim.get("name")), text(claim.get("request"))
        if not name:
            yield claim.at("name").missing()
            continue
        yield from dns_label(claim.at("request"))
        key = f"{name}/{request}" if request else name
        if name in names or key in names or (not request and any(item.startswith(f"{name}/") for item in names)):
            yield claim.problem(f"two items name the resource claim {name}")
        names.add(key)
        if name not in known:
            yield claim.at("name").problem(f"the pod has no resource claim {name}; known: {', '.join(sorted(known))}")


def _pod_resources(resources: Field) -> Problems:
    """Checks the resources of a pod, and compares them with the resources of the containers."""
    if resources.get("claims") is not None:
        yield resources.at("claims").problem("resources of a pod allow no claims", "move claims to a container")
    yield from requirements(resources, _pod_resource_name)
    pod = resources.within("pod")
    own = {field: quantities(resources.get(field)) for field in ("requests", "limits")}
    for name, amount in of_containers(pod.value, "requests").items():
        if name in own["requests"] and amount > own["requests"][name]:
            least = format_quantity(amount)
            message = f"the containers request {least} {name} together"
            yield resources.at("requests", name).problem(message, f"write {least}")
    for name, amount in of_containers(pod.value, "limits").items():
        if name.startswith(HUGE_PAGES) and name in own["limits"] and amount > own["limits"][name]:
            message = f"the limits of the containers are {format_quantity(amount)} {name} together"
            yield resources.at("limits", name).problem(message)
    for container in pod.rows("containers"):
        for name, amount in quantities(container.get("resources", "limits")).items():
            if name in own["limits"] and amount > own["limits"][name]:
                most = format_quantity(own["limits"][name])
                message = f"the limit of the container is more than the pod's limit of {most} {name}"
                yield container.at("resources", "limits", name).problem(message)
