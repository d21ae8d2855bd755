"""ResourceQuotas: whether a namespace has room for pods and other objects that exist at the same time.

The namespace is assumed to be empty.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/resourcequota/controller.go (CheckRequest);
k8s.io/kubernetes v1.35.4 pkg/quota/v1/evaluator/core/pods.go (podMatchesScopeFunc), persistent_volume_claims.go
(pvcMatchesScopeFunc); pkg/apis/core/v1/helper/helpers.go (ScopedResourceSelectorRequirementsAsSelector)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from gpuc.admission.documents import api_group, in_namespace, is_pod, kind
from gpuc.admission.quota_usage import is_key_of, missing_values, usage
from gpuc.admission.request import Decision, Request
from gpuc.diagnostics.finding import Path
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet, dig, items
from gpuc.objects.pod_resources import Resources, add, is_best_effort, quantities, quantity_text


def quota_decisions(objects: ObjectSet, namespace: str, requests: Sequence[tuple[Request, int]]) -> Iterator[Decision]:
    """Yields the decisions of the ResourceQuotas of a namespace about objects that exist at the same time.

    A ResourceQuota that counts none of the objects yields no decision.

    Args:
        requests: the requests with the number of equal objects that exist at the same time; Pods after `mutated`.
    """
    created = [(request.document, count) for request, count in requests if count > 0]
    for quota in in_namespace(objects, "ResourceQuota", namespace):
        yield from _decisions(quota, created)


def quota_counts(quota: Manifest, document: Body) -> bool:
    """Returns whether a ResourceQuota counts an object: one of its keys, and all of its scopes match the object."""
    return any(is_key_of(key, document) for key in _hard(quota)) and is_in_scope(quota, document)


def _hard(quota: Manifest) -> Resources:
    return quantities(dig(quota.body, "spec", "hard"))


def _decisions(quota: Manifest, created: list[tuple[Body, int]]) -> Iterator[Decision]:
    """Yields a denial for every exceeded key and every missing value, or that the ResourceQuota allows the objects."""
    counted = [(document, count) for document, count in created if quota_counts(quota, document)]
    denied = False
    for document, _ in counted:
        for decision in _missing(quota, document) if is_pod(document) else ():
            denied = True
            yield decision
    usages = [(document, count, usage(document)) for document, count in counted]
    total: Resources = {}
    for _, count, amounts in usages:
        total = add(total, {key: count * amount for key, amount in amounts.items()})
    for key, most in _hard(quota).items():
        if key in total and total[key] > most:
            denied = True
            yield _exceeded(quota, key, most, total[key], [row for row in usages if row[2].get(key)])
    if counted and not denied:
        yield Decision("allowed", str(quota), "", quota, ("spec", "hard"))


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
    """Returns whether all scopes of a ResourceQuota match an object. Without a scope, all objects match."""
    scopes = [{"scopeName": name, "operator": "Exists"} for _, name in items(dig(quota.body, "spec", "scopes"))]
    scopes += [scope for _, scope in items(dig(quota.body, "spec", "scopeSelector", "matchExpressions"))]
    return all(_matches(scope, document) for scope in scopes)


def _matches(scope: Any, document: Body) -> bool:
    name, spec = dig(scope, "scopeName"), dig(document, "spec")
    if is_pod(document):
        match name:
            case "Terminating" | "NotTerminating":
                return _has_deadline(spec) is (name == "Terminating")
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


def _has_deadline(spec: Any) -> bool:
    seconds = dig(spec, "activeDeadlineSeconds")
    return isinstance(seconds, int) and seconds >= 0


def _selects_other_namespaces(spec: Any) -> bool:
    return any(dig(term, "namespaces") or dig(term, "namespaceSelector") is not None for term in _affinity_terms(spec))


def _affinity_terms(spec: Any) -> Iterator[Any]:
    for affinity in ("podAffinity", "podAntiAffinity"):
        for field, *steps in _TERMS:
            for _, row in items(dig(spec, "affinity", affinity, field)):
                yield dig(row, *steps)
