"""ResourceQuotas that allow fewer objects of a kind than the input has in the namespace.

Source: kubernetes v1.35 pkg/quota/v1/evaluator/core/registry.go, pkg/quota/v1/install (keys of spec.hard)
"""

from __future__ import annotations

from collections import Counter

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.kueue import GROUP, QUEUE_LABEL
from gpuc.kubernetes.quantity import quantity
from gpuc.kubernetes.resource_name import resource_name
from gpuc.lint.checks import Findings, check
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, pairs

TOO_MANY = declare_rule(
    "QTA018", Severity.ERROR, "A ResourceQuota allows fewer objects of a kind than its namespace has.",
    "The API server refuses the objects beyond the quota: exceeded quota.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count",
)  # fmt: skip
NO_JOBS = declare_rule(
    "QTA021", Severity.WARNING, "A namespace with a LocalQueue allows no Jobs.",
    "The API server refuses every Job that names the LocalQueue.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count",
)  # fmt: skip
_JOBS = "jobs.batch"
_OLD_NAMES = frozenset(("configmaps", "persistentvolumeclaims", "replicationcontrollers", "secrets", "services"))


@check(TOO_MANY, NO_JOBS)
def object_counts(objects: ObjectSet) -> Findings:
    """Yields findings about ResourceQuotas with object counts that the input exceeds.

    All workloads of a kind that name a LocalQueue count as one object, because users can submit them one by one.
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
