"""How many objects of a kind a ResourceQuota allows, against those that the tree itself has in the namespace.

Source: kubernetes v1.35 pkg/quota/v1/evaluator/core/registry.go, pkg/quota/v1/install (names of what is counted)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpuc.diagnostics.finding import Severity, declare_rule
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, pairs

TOO_MANY = declare_rule(
    "QTA018",
    Severity.ERROR,
    "A ResourceQuota allows fewer objects of a kind than stand in its namespace.",
    "The API server refuses whichever comes last: exceeded quota.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count",
)
NO_JOBS = declare_rule(
    "QTA021",
    Severity.WARNING,
    "A namespace has a queue and may have no Jobs.",
    "The API server refuses every Job that is sent to the queue.",
    "https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-on-object-count",
)
_JOBS = "jobs.batch"
_OLD_NAMES = frozenset(("configmaps", "persistentvolumeclaims", "replicationcontrollers", "secrets", "services"))
_QUEUE = "kueue.x-k8s.io/queue-name"


def counts(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Bounds on numbers of objects that the tree's own objects break; work for queues counts once, as one may wait."""
    quotas = tree.of("", "ResourceQuota")
    if not quotas:
        return
    queues = {each.namespace: each.name for each in tree.of("kueue.x-k8s.io", "LocalQueue")} if tree.is_complete else {}
    there: Counter[tuple[str, str]] = Counter()
    waiting: set[tuple[str, str]] = set()
    for manifest in tree.manifests:
        if manifest.namespace:
            key = manifest.namespace, _resource(manifest)
            if _QUEUE in manifest.labels:
                waiting.add(key)
            else:
                there[key] += 1
    for quota in quotas:
        for name, row in pairs(dig(quota.body, "spec", "hard")):
            resource_name = _counted(name)
            key, most = (quota.namespace, resource_name), quantity(row)
            seen = there[key] + (key in waiting)
            if resource_name and most is not None and most < seen:
                text = f"at most {row} {resource_name} may be in namespace {quota.namespace}, and {seen} stand there"
                yield ObjectFinding(TOO_MANY, quota, ("spec", "hard", name), text)
            elif resource_name == _JOBS and most is not None and most < 1 and quota.namespace in queues:
                text = f"no Job may be in {quota.namespace}, and LocalQueue {queues[quota.namespace]} waits for them"
                yield ObjectFinding(NO_JOBS, quota, ("spec", "hard", name), text)


def _resource(manifest: Manifest) -> str:
    """The name under which an object is counted: "jobs.batch", "networkpolicies.networking.k8s.io".

    Source: k8s.io/apimachinery v0.35 pkg/api/meta/restmapper.go (UnsafeGuessKindToResource)
    """
    kind = manifest.kind.lower()
    plural = f"{kind}es" if kind.endswith("s") else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return ".".join(filter(None, (plural, group(manifest))))


def _counted(name: object) -> str:
    """The resource whose objects an entry counts: "jobs.batch" of "count/jobs.batch"; empty for any other entry."""
    if not isinstance(name, str):
        return ""
    return name if name in _OLD_NAMES else name.removeprefix("count/") if name.startswith("count/") else ""
