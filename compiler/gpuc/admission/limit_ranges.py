"""LimitRanges: the default, minimum and maximum resources of containers and pods in a namespace.

Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/limitranger/admission.go; pkg/apis/core/v1/defaults.go
(SetDefaults_LimitRangeItem)
"""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

from gpuc.admission.documents import PodPart, container_name, in_namespace, is_pod, kind, namespace_of, pod_part
from gpuc.admission.request import Decision, Request
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.pod_resources import Resources, of_pod_in_limit_range, quantities, quantity_text

_CLAIM = "PersistentVolumeClaim"
_MAX_MILLI = 2**63 // 1000
"""The largest value that the plugin compares in thousandths (apimachinery, MaxMilliValue)."""


class _Subject(NamedTuple):
    """The pod or the container whose resources a limit bounds."""

    name: str
    path: Path
    """The path of the pod spec or the container in the document."""
    requests: Resources
    limits: Resources


def effective_limits(limit_range: Manifest) -> Iterator[tuple[Path, Body]]:
    """Yields every limit of a LimitRange with its path. The function adds missing fields as the API server does.

    For containers, the API server sets the missing fields in this order: `default` gets the value of `max`,
    `defaultRequest` gets the value of `default`, and a `defaultRequest` that is still missing gets the value of `min`.
    """
    for number, limit in items(dig(limit_range.body, "spec", "limits")):
        if not isinstance(limit, dict):
            continue
        path: Path = ("spec", "limits", number)
        if limit.get("type") != "Container":
            yield path, limit
            continue
        default = {**dict(pairs(limit.get("max"))), **dict(pairs(limit.get("default")))}
        request = {**dict(pairs(limit.get("min"))), **default, **dict(pairs(limit.get("defaultRequest")))}
        yield path, {**limit, "default": default, "defaultRequest": request}


def container_defaults(limit_range: Manifest) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the requests and the limits that a LimitRange gives to containers without requests and limits.

    If several limits of the LimitRange have a default for a resource, the last limit counts.
    """
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for _, limit in effective_limits(limit_range):
        if limit.get("type") == "Container":
            requests.update(limit["defaultRequest"])
            limits.update(limit["default"])
    return requests, limits


def limit_range_decisions(objects: ObjectSet, request: Request) -> Iterator[Decision]:
    """Yields the decisions of a namespace's LimitRanges about a Pod or a PersistentVolumeClaim.

    Args:
        request: must be a result of `mutated`, which sets the defaults of the LimitRanges.
    """
    manifests = in_namespace(objects, "LimitRange", namespace_of(request.document))
    if kind(request.document) == _CLAIM:
        for manifest in manifests:
            yield from _claim_decisions(manifest, request.document)
        return
    pod = pod_part(request.document)
    if pod is None or not is_pod(request.document):
        return
    yield from _different_defaults(manifests)
    for manifest in manifests:
        denials = [
            decision
            for path, limit in effective_limits(manifest)
            for subject in _subjects(pod, limit.get("type"))
            for decision in _decisions(manifest, path, limit, subject)
        ]
        yield from denials or [Decision("allowed", str(manifest), "", manifest, ("spec", "limits"))]


def _claim_decisions(manifest: Manifest, claim: Body) -> Iterator[Decision]:
    """Yields a denial for every bound of a LimitRange that the storage of a PersistentVolumeClaim violates."""
    requests = quantities(dig(claim, "spec", "resources", "requests"))
    subject = _Subject(f"{_CLAIM} {dig(claim, 'metadata', 'name')}", ("spec",), requests, requests)
    for path, limit in effective_limits(manifest):
        if limit.get("type") != _CLAIM:
            continue
        for name, bound in quantities(limit.get("min")).items():
            yield from _bound(manifest, (*path, "min", name), subject, name, bound)
        for name, bound in quantities(limit.get("max")).items():
            if requests.get(name, bound) > bound:
                most = quantity_text(name, bound)
                message = f"{subject.name} requests {_of(requests, name)}; the maximum is {most}"
                fix = f"request at most {most} {name}"
                yield _denied(manifest, (*path, "max", name), subject, "requests", name, message, fix)


def _different_defaults(manifests: list[Manifest]) -> Iterator[Decision]:
    """Yields an "unknown" decision if two LimitRanges have different defaults, because their order is random."""
    known: dict[tuple[str, str], tuple[Any, Manifest]] = {}
    for manifest in manifests:
        for side, defaults in zip(("requests", "limits"), container_defaults(manifest), strict=True):
            for name, value in defaults.items():
                first, other = known.setdefault((side, name), (value, manifest))
                if quantity(first) != quantity(value):
                    message = f"{other} and {manifest} have different defaults for the {side} of {name}"
                    yield Decision("unknown", str(manifest), message, manifest, ("spec", "limits"))


def _subjects(pod: PodPart, type_: Any) -> Iterator[_Subject]:
    if type_ == "Pod":
        requests, limits = (of_pod_in_limit_range(pod.spec, side) for side in ("requests", "limits"))
        yield _Subject("the pod", ("spec",), requests, limits)
    elif type_ == "Container":
        for path, container in pod.containers_with_resources():
            resources = dig(container, "resources")
            both = quantities(dig(resources, "requests")), quantities(dig(resources, "limits"))
            yield _Subject(container_name(path, container), path, *both)


def _decisions(manifest: Manifest, path: Path, limit: Body, subject: _Subject) -> Iterator[Decision]:
    """Yields a decision for every bound of a limit that a pod or a container violates."""
    for side in ("min", "max"):
        for name, bound in quantities(limit.get(side)).items():
            yield from _bound(manifest, (*path, side, name), subject, name, bound)
    for name, bound in quantities(limit.get("maxLimitRequestRatio")).items():
        yield from _ratio(manifest, (*path, "maxLimitRequestRatio", name), subject, name, bound)


def _bound(manifest: Manifest, path: Path, subject: _Subject, name: str, bound: Fraction) -> Iterator[Decision]:
    """Yields a denial if the request or the limit is beyond a minimum or maximum, or is missing.

    A minimum needs a request, and a maximum needs a limit.
    """
    request, limit, edge = _comparable(subject.requests.get(name), subject.limits.get(name), bound)
    word, kind, sign = ("least", "minimum", 1) if path[-2] == "min" else ("most", "maximum", -1)
    needed, amount = "requests" if sign > 0 else "limits", quantity_text(name, bound)
    sides = (
        ("requests", subject.requests, request, "has no request for", "requests", "request"),
        ("limits", subject.limits, limit, "has no limit of", "has a limit of", "set a limit of"),
    )
    for side, own, value, lacks, has, fix in sides[::sign]:
        is_wrong = side == needed if value is None else value * sign < edge * sign
        if is_wrong:
            found = f"{lacks} {name}" if value is None else f"{has} {_of(own, name)}"
            message = f"{subject.name} {found}; the {kind} is {amount}"
            yield _denied(manifest, path, subject, side, name, message, f"{fix} at {word} {amount} {name}")
            return


def _ratio(manifest: Manifest, path: Path, subject: _Subject, name: str, bound: Fraction) -> Iterator[Decision]:
    most = quantity_text("", bound)
    request, limit, _ = _comparable(subject.requests.get(name), subject.limits.get(name), bound)
    side = "requests" if not request else "limits"
    if not request or not limit:
        message = f"{subject.name} has no {side[:-1]} of {name}; the limit may be at most {most} times the request"
        yield _denied(manifest, path, subject, side, name, message, f"set a request and a limit of {name}")
    elif Fraction(limit, request) > bound:
        both = f"{_of(subject.limits, name)}, {_of(subject.requests, name)}"
        message = f"limit and request of {subject.name} are {both}; the limit may be at most {most} times the request"
        fix = f"set a limit of at most {most} times the request of {name}"
        yield _denied(manifest, path, subject, "limits", name, message, fix)


def _comparable(
    request: Fraction | None, limit: Fraction | None, bound: Fraction
) -> tuple[int | None, int | None, int]:
    """Returns the values as the plugin compares them: thousandths, or integers if a value is too large; rounded up."""
    values = [ceil(value) for value in (request or 0, limit or 0, bound)]
    scale = 1000 if all(value <= _MAX_MILLI for value in values) else 1
    return (
        None if request is None else ceil(request * scale),
        None if limit is None else ceil(limit * scale),
        ceil(bound * scale),
    )


def _of(resources: Resources, name: str) -> str:
    return f"{quantity_text(name, resources[name])} {name}"


def _denied(
    manifest: Manifest, path: Path, subject: _Subject, side: str, name: str, message: str, fix: str
) -> Decision:
    field = (*subject.path, "resources", side, name)
    return Decision("denied", str(manifest), message, manifest, path, field, fix)
