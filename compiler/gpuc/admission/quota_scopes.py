"""The scopes of ResourceQuotas: which objects a ResourceQuota counts.

Source: k8s.io/kubernetes v1.35.4 pkg/quota/v1/evaluator/core/pods.go (podMatchesScopeFunc),
persistent_volume_claims.go (pvcMatchesScopeFunc); pkg/apis/core/v1/helper/helpers.go
(ScopedResourceSelectorRequirementsAsSelector)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.admission.documents import api_group, is_pod, kind
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import dig, items
from gpuc.objects.pod_resources import is_best_effort

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
