"""LimitRanges that the API server refuses: bounds and defaults that contradict one another.

Source: kubernetes v1.35 pkg/apis/core/validation/validation.go (ValidateLimitRange)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

CONTRADICTS_ITSELF = declare_rule(
    "QTA019",
    Severity.ERROR,
    "A LimitRange has a type that does not exist, or a bound beyond another one.",
    "The API server refuses it: pods without requests then get none, and a ResourceQuota refuses those.",
    "kubernetes v1.35 pkg/apis/core/validation/validation.go (ValidateLimitRange)",
)
COUNTS_AS_NOTHING = declare_rule(
    "QTA020",
    Severity.WARNING,
    "A LimitRange gives containers a request of nothing, of a resource that a ResourceQuota bounds.",
    "Containers that say nothing count as nothing, and run all the same: the quota does not hold them back.",
    "kubernetes v1.35 pkg/quota/v1/evaluator/core/pods.go (PodUsageFunc)",
)
_TYPES = ("Container", "Pod", "PersistentVolumeClaim")
_RISING = ("min", "defaultRequest", "default", "max")
"""None of these may be above one that stands behind it."""


def ranges(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Types, bounds and defaults of every LimitRange."""
    bounded = _bounded(tree)
    for manifest in tree.of("", "LimitRange"):
        for number, limit in items(dig(manifest.body, "spec", "limits")):
            path: Path = ("spec", "limits", number)
            kind = dig(limit, "type")
            if isinstance(kind, str) and kind not in _TYPES and "/" not in kind:
                text = f'type "{kind}" is none of {", ".join(_TYPES)}'
                yield ObjectFinding(CONTRADICTS_ITSELF, manifest, (*path, "type"), text)
            yield from _crossed(manifest, path, limit)
            for resource, row in pairs(dig(limit, "defaultRequest")):
                if quantity(row) == 0 and (quota := bounded.get((manifest.namespace, resource))):
                    text = f"a container that says nothing of {resource} counts as {row}, and {quota} bounds {resource}"
                    yield ObjectFinding(COUNTS_AS_NOTHING, manifest, (*path, "defaultRequest", resource), text)


def _bounded(tree: ObjectSet) -> dict[tuple[str, str], Manifest]:
    """A ResourceQuota by namespace and resource whose requests it bounds."""
    return {
        (quota.namespace, str(name).removeprefix("requests.")): quota
        for quota in tree.of("", "ResourceQuota")
        for name, _ in pairs(dig(quota.body, "spec", "hard"))
    }


def _crossed(manifest: Manifest, path: Path, limit: Any) -> Iterator[ObjectFinding]:
    for place, low in enumerate(_RISING):
        for resource, row in pairs(dig(limit, low)):
            value = quantity(row)
            for high in _RISING[place + 1 :]:
                bound = dig(limit, high, resource)
                most = quantity(bound)
                if value is not None and most is not None and value > most:
                    text = f"{low} of {resource} is {row}, above {high}, which is {bound}"
                    yield ObjectFinding(CONTRADICTS_ITSELF, manifest, (*path, low, resource), text)
                    break
