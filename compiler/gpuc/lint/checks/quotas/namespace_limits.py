"""Checks LimitRanges that contradict themselves or bypass a ResourceQuota, and ResourceQuotas that count objects.

Source: kubernetes v1.35 pkg/apis/core/validation/validation.go (ValidateLimitRange), pkg/quota/v1/evaluator/core
(registry.go) and pkg/quota/v1/install (keys of spec.hard)
"""

from collections import Counter
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import GROUP, QUEUE_LABEL
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.resource_name import resource_name
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, items, pairs

CONTRADICTS_ITSELF = rule_of("QTA019")
COUNTS_AS_NOTHING = rule_of("QTA020")
TOO_MANY = rule_of("QTA018")
NO_JOBS = rule_of("QTA021")
_RISING = ("min", "defaultRequest", "default", "max")
"""Fields in rising order: no value may be above the value of a later field."""
_JOBS = "jobs.batch"
_OLD_NAMES = frozenset(("configmaps", "persistentvolumeclaims", "replicationcontrollers", "secrets", "services"))


@check(CONTRADICTS_ITSELF, COUNTS_AS_NOTHING, kinds=("LimitRange", "ResourceQuota"))
def limit_ranges(objects: ObjectSet) -> Findings:
    """Yields findings about the minima, maxima and defaults of every LimitRange."""
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


@check(TOO_MANY, NO_JOBS)
def object_counts(objects: ObjectSet) -> Findings:
    """Yields findings about ResourceQuotas that allow fewer objects of a kind than the input has.

    All workloads of a kind that name a LocalQueue count as one object, because users can create one after another.
    """
    quotas = objects.of("", "ResourceQuota")
    if not quotas:
        return
    local_queues = objects.of(GROUP, "LocalQueue") if objects.is_complete else ()
    queues = {queue.namespace: queue.name for queue in local_queues}
    counts: Counter[tuple[str, str]] = Counter()
    waiting: set[tuple[str, str]] = set()
    for manifest in objects.manifests:
        if manifest.namespace:
            key = manifest.namespace, resource_name(group(manifest), manifest.kind)
            if QUEUE_LABEL in manifest.labels:
                waiting.add(key)
            else:
                counts[key] += 1
    for quota in quotas:
        for name, row in pairs(dig(quota.body, "spec", "hard")):
            resource = _counted(name)
            key, maximum = (quota.namespace, resource), quantity(row)
            actual = counts[key] + (key in waiting)
            if resource and maximum is not None and maximum < actual:
                text = f"the quota allows {row} {resource}, and namespace {quota.namespace} has {actual}"
                yield ObjectFinding(TOO_MANY, quota, ("spec", "hard", name), text)
            elif resource == _JOBS and maximum is not None and maximum < 1 and quota.namespace in queues:
                local = queues[quota.namespace]
                text = f"the quota allows no Jobs, and namespace {quota.namespace} has LocalQueue {local}"
                yield ObjectFinding(NO_JOBS, quota, ("spec", "hard", name), text)


def _counted(name: object) -> str:
    """Returns the resource that a key of spec.hard counts, such as "jobs.batch" of "count/jobs.batch"; else nothing."""
    if name in _OLD_NAMES:
        return str(name)
    return name.removeprefix("count/") if isinstance(name, str) and name.startswith("count/") else ""
