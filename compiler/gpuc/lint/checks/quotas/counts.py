"""How many objects of a kind a ResourceQuota allows, against those that the tree itself has in the namespace.

Source: kubernetes v1.35 pkg/quota/v1/evaluator/core/registry.go, pkg/quota/v1/install (names of what is counted)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, fault
from gpuc.kubernetes.amount import ONE, amount
from gpuc.kubernetes.resources import RESOURCES
from gpuc.objects.flaw import Flaw
from gpuc.objects.object_set import ObjectSet, dig, group, pairs

TOO_MANY = fault(
    "QTA018",
    Severity.ERROR,
    "A ResourceQuota allows fewer objects of a kind than stand in its namespace.",
    "The API server refuses whichever comes last: exceeded quota.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count",
)
NO_JOBS = fault(
    "QTA021",
    Severity.WARNING,
    "A namespace has a queue and may have no Jobs.",
    "The API server refuses every Job that is sent to the queue.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count",
)
_JOBS = "jobs.batch"
_OLD_NAMES = frozenset(("configmaps", "persistentvolumeclaims", "replicationcontrollers", "secrets", "services"))
_QUEUE = "kueue.x-k8s.io/queue-name"


def counts(tree: ObjectSet) -> Iterator[Flaw]:
    """Bounds on numbers of objects that the tree's own objects break; work for queues counts once, as one may wait."""
    quotas = tree.of("", "ResourceQuota")
    if not quotas:
        return
    queues = {each.namespace: each.name for each in tree.of("kueue.x-k8s.io", "LocalQueue")} if tree.is_whole else {}
    there: Counter[tuple[str, str]] = Counter()
    waiting: set[tuple[str, str]] = set()
    for manifest in tree.manifests:
        resource = RESOURCES.get(manifest.kind.lower())
        if manifest.namespace and resource is not None and resource.group == group(manifest):
            key = manifest.namespace, str(resource)
            if _QUEUE in manifest.labels:
                waiting.add(key)
            else:
                there[key] += 1
    for quota in quotas:
        for name, row in pairs(dig(quota.body, "spec", "hard")):
            resource_name = _counted(name)
            key, most = (quota.namespace, resource_name), amount(row)
            seen = there[key] + (key in waiting)
            if resource_name and most is not None and most < seen * ONE:
                text = f"at most {row} {resource_name} may be in namespace {quota.namespace}, and {seen} stand there"
                yield Flaw(TOO_MANY, quota, ("spec", "hard", name), text)
            elif resource_name == _JOBS and most is not None and most < ONE and quota.namespace in queues:
                text = f"no Job may be in {quota.namespace}, and LocalQueue {queues[quota.namespace]} waits for them"
                yield Flaw(NO_JOBS, quota, ("spec", "hard", name), text)


def _counted(name: object) -> str:
    """The resource whose objects an entry counts: "jobs.batch" of "count/jobs.batch"; empty for any other entry."""
    if not isinstance(name, str):
        return ""
    return name if name in _OLD_NAMES else name.removeprefix("count/") if name.startswith("count/") else ""
