"""LimitRanges with contradictory bounds, or with default requests that bypass a ResourceQuota.

Source: kubernetes v1.35 pkg/apis/core/validation/validation.go (ValidateLimitRange)
"""

from __future__ import annotations

from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.quantity import quantity
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs

CONTRADICTS_ITSELF = rule_of("QTA019")
COUNTS_AS_NOTHING = rule_of("QTA020")
_RISING = ("min", "defaultRequest", "default", "max")
"""Fields in rising order: no value may be above the value of a later field."""


@check(CONTRADICTS_ITSELF, COUNTS_AS_NOTHING, kinds=("LimitRange", "ResourceQuota"))
def limit_ranges(objects: ObjectSet) -> Findings:
    """Yields findings about bounds and defaults of every LimitRange."""
    bounded = _bounded(objects)
    for manifest in objects.of("", "LimitRange"):
        for number, limit in items(dig(manifest.body, "spec", "limits")):
            path: Path = ("spec", "limits", number)
            yield from _crossed(manifest, path, limit)
            for resource, row in pairs(dig(limit, "defaultRequest")):
                if quantity(row) == 0 and (quota := bounded.get((manifest.namespace, resource))):
                    text = f"a container without a request for {resource} counts as {row}, and {quota} limits "
                    yield ObjectFinding(
                        COUNTS_AS_NOTHING, manifest, (*path, "defaultRequest", resource), text + resource
                    )


def _bounded(objects: ObjectSet) -> dict[tuple[str, str], Manifest]:
    """Returns the last ResourceQuota that limits the requests for a resource, by namespace and resource."""
    return {
        (quota.namespace, str(name).removeprefix("requests.")): quota
        for quota in objects.of("", "ResourceQuota")
        for name, _ in pairs(dig(quota.body, "spec", "hard"))
    }


def _crossed(manifest: Manifest, path: Path, limit: Any) -> Findings:
    for position, low in enumerate(_RISING):
        for resource, row in pairs(dig(limit, low)):
            value = quantity(row)
            for high in _RISING[position + 1 :]:
                bound = dig(limit, high, resource)
                maximum = quantity(bound)
                if value is not None and maximum is not None and value > maximum:
                    text = f"{low} of {resource} is {row}, but {high} is {bound}"
                    yield ObjectFinding(CONTRADICTS_ITSELF, manifest, (*path, low, resource), text)
                    break
