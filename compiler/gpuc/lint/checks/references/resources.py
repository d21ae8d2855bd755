"""Resources: what nodes have, against what queues cover, quotas bound and pods ask for."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.diagnostics.spelling import write
from gpuc.lint.checks.references.devices import meant
from gpuc.lint.checks.references.overlays import types_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.index import Index
from gpuc.objects.node_pools import Pool
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items, pairs
from gpuc.objects.paths import pattern, places
from gpuc.trace.instance_capacity import instance_labels

NOT_COVERED = declare_rule(
    "REF050",
    Severity.WARNING,
    "A queue does not cover a resource that its nodes have or that its tenants have a quota of.",
    "Kueue admits no work that asks for a resource which its ClusterQueue does not cover.",
    "Kueue v0.19.2, pkg/scheduler/flavorassigner/flavorassigner.go (resource unavailable in ClusterQueue)",
)
IDLE_QUOTA = declare_rule(
    "REF051",
    Severity.ERROR,
    "A ResourceQuota has a key that Kubernetes refuses, or takes and never counts.",
    "Extended resources are counted only as requests.<name>: by any other key the namespace takes all it can.",
    "kubernetes v1.35, pkg/quota/v1/evaluator/core/pods.go (isExtendedResourceNameForQuota), pkg/apis/core/validation",
)
NEARLY_A_RESOURCE = declare_rule(
    "REF052",
    Severity.ERROR,
    "A resource has nearly the name of one that devices have.",
    "No node ever has it: pods that ask for it stay Pending, and a quota of it bounds nothing.",
    "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources",
)

NAMED: tuple[tuple[str, str], ...] = (
    ("ResourceQuota", "spec.hard"),
    ("LimitRange", "spec.limits[].default"),
    ("LimitRange", "spec.limits[].defaultRequest"),
    ("LimitRange", "spec.limits[].max"),
    ("kueue.x-k8s.io/ClusterQueue", "spec.resourceGroups[].coveredResources[]"),
    ("kueue.x-k8s.io/ClusterQueue", "spec.resourceGroups[].flavors[].resources[].name"),
    ("kueue.x-k8s.io/Cohort", "spec.resourceGroups[].coveredResources[]"),
    ("kueue.x-k8s.io/Cohort", "spec.resourceGroups[].flavors[].resources[].name"),
    ("karpenter.sh/NodeOverlay", "spec.capacity"),
    ("karpenter.sh/NodePool", "spec.limits"),
)
"""Kinds and places of names of resources, as a text or as the keys of a map; those of pods come with them."""
_PREFIXES = ("requests.", "limits.")
_STANDARD = frozenset(
    (
        *(f"{prefix}{name}" for prefix in ("", *_PREFIXES) for name in ("cpu", "memory", "ephemeral-storage")),
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "requests.storage",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    )
)
"""kubernetes v1.35, pkg/apis/core/helper/helpers.go (standardQuotaResources)."""
_COUNTED_WITH_SLASH = (
    "count/",
    ".storageclass.storage.k8s.io/",
    ".volumeattributesclass.storage.k8s.io/",
    ".deviceclass.resource.k8s.io/",
    "kubernetes.io/",
)


def findings(index: Index) -> Iterator[ObjectFinding]:
    """Keys of quotas, names that are nearly another, and what queues should cover."""
    for quota in index.tree.of("", "ResourceQuota"):
        yield from _quota_keys(quota)
    yield from _nearly(index)
    covered = {each.name: _covered(each) for each in index.tree.of("kueue.x-k8s.io", "ClusterQueue")}
    if not _excludes(index):
        yield from _nodes_covered(index)
        yield from _quotas_covered(index, covered)


def _quota_keys(quota: Manifest) -> Iterator[ObjectFinding]:
    for key, _ in pairs(dig(quota.body, "spec", "hard")):
        if key in _STANDARD or key.startswith(("hugepages-", "requests.hugepages-")):
            continue
        path: Path = ("spec", "hard", key)
        if "/" not in key:
            if not key.startswith("count/"):
                hint = f"requests.{key.removeprefix('limits.')}" if "hugepages-" in key else ""
                yield ObjectFinding(
                    IDLE_QUOTA, quota, path, "Kubernetes knows no such quota and refuses it", write(hint), True
                )
        elif not key.startswith("requests.") and not any(part in key for part in _COUNTED_WITH_SLASH):
            name = key.removeprefix("limits.")
            message = (
                "Kubernetes takes this key and counts nothing by it; extended resources are counted as requests.<name>"
            )
            yield ObjectFinding(IDLE_QUOTA, quota, path, message, write(f"requests.{name}"), True)


def _nearly(index: Index) -> Iterator[ObjectFinding]:
    offered = {name for each in index.tree.of("karpenter.sh", "NodeOverlay") for name in _capacity(each)}
    sure = {name for name in offered if not meant(name, ())}
    for kind, where in NAMED:
        api_group, _, name = kind.rpartition("/")
        for manifest in index.tree.of(api_group, name):
            for path, value in places(manifest.body, pattern(where)):
                texts = [(path, value)] if isinstance(value, str) else [((*path, key), key) for key, _ in pairs(value)]
                for place, text in texts:
                    yield from _nearly_one(manifest, place, text, sure, index, on_key=isinstance(value, dict))
    for each in index.pods:
        for path, text in each.resources():
            yield from _nearly_one(each.manifest, path, text, sure, index, on_key=True)


def _nearly_one(
    manifest: Manifest, path: Path, text: str, offered: set[str], index: Index, *, on_key: bool
) -> Iterator[ObjectFinding]:
    prefix = next((each for each in _PREFIXES if text.startswith(each)), "")
    name = text[len(prefix) :]
    near = meant(name, offered)
    if near and not _is_renamed(name, index):
        message = f'no device is known as "{name}", did you mean "{near}"'
        yield ObjectFinding(NEARLY_A_RESOURCE, manifest, path, message, write(f"{prefix}{near}"), on_key)


def _is_renamed(name: str, index: Index) -> bool:
    """Whether a configuration in the tree speaks of the name, as that of a device plugin that renames its devices."""
    maps = index.tree.of("", "ConfigMap")
    return any(name in text for each in maps for _, text in pairs(dig(each.body, "data")) if isinstance(text, str))


def _capacity(overlay: Manifest) -> list[str]:
    """Resources that an overlay gives to nodes."""
    return [key for key, value in pairs(dig(overlay.body, "spec", "capacity")) if str(value).strip() not in ("0", "")]


def _covered(queue: Manifest) -> set[str]:
    found = places(queue.body, pattern("spec.resourceGroups[].coveredResources[]"))
    return {name for _, name in found if isinstance(name, str)}


def _excludes(index: Index) -> bool:
    """Whether Kueue's configuration, where the tree has it, leaves resources out of its account."""
    for each in index.tree.of("", "ConfigMap"):
        for _, text in pairs(dig(each.body, "data")):
            if isinstance(text, str) and "excludeResourcePrefixes" in text and "kueue" in text:
                return True
    return False


def _nodes_covered(index: Index) -> Iterator[ObjectFinding]:
    given = _given(index)
    if not given:
        return
    by_flavor: dict[str, list[Pool]] = {}
    for flavor in index.tree.of("kueue.x-k8s.io", "ResourceFlavor"):
        labels = dig(flavor.body, "spec", "nodeLabels")
        by_flavor[flavor.name] = index.nodes.matching(labels) if labels else []
    for queue in index.tree.of("kueue.x-k8s.io", "ClusterQueue"):
        covered = _covered(queue)
        for number, each in items(dig(queue.body, "spec", "resourceGroups")):
            missing: dict[str, str] = {}
            for _, flavor in items(dig(each, "flavors")):
                for pool in by_flavor.get(str(dig(flavor, "name")), []):
                    missing |= {name: pool.name for name in given.get(pool.name, ()) if name not in covered}
            for name, pool_name in missing.items():
                path: Path = ("spec", "resourceGroups", number, "coveredResources")
                yield ObjectFinding(
                    NOT_COVERED, queue, path, f"{name} is missing, which nodes of NodePool {pool_name} have"
                )


def _given(index: Index) -> dict[str, list[str]]:
    """Extended resources and huge pages that overlays give to nodes, by pool."""
    found: dict[str, list[str]] = {}
    for pool in index.nodes.pools:
        for name in types_of(pool) or [""]:
            for overlay in index.overlays.of(pool, name, instance_labels(name) if name else {}):
                names = _capacity(overlay.manifest) if overlay.is_sure else ()
                found.setdefault(pool.name, []).extend(
                    name for name in names if "/" in name or name.startswith("hugepages-")
                )
    return {name: list(dict.fromkeys(names)) for name, names in found.items()}


def _quotas_covered(index: Index, covered: dict[str, set[str]]) -> Iterator[ObjectFinding]:
    queues: dict[str, list[str]] = {}
    for local in index.tree.of("kueue.x-k8s.io", "LocalQueue"):
        queues.setdefault(local.namespace, []).append(str(dig(local.body, "spec", "clusterQueue")))
    for quota in index.tree.of("", "ResourceQuota"):
        names = queues.get(quota.namespace, [])
        if not names or not quota.namespace or any(name not in covered for name in names):
            continue
        has = set().union(*(covered[name] for name in names))
        for key, value in pairs(dig(quota.body, "spec", "hard")):
            name = key.removeprefix("requests.")
            is_request = key.startswith("requests.") and key != "requests.storage" and ".storageclass." not in key
            if is_request and name not in has and str(value).strip() != "0":
                message = (
                    f"the quota lets the namespace have {name}, which ClusterQueue {', '.join(names)} does not cover"
                )
                yield ObjectFinding(NOT_COVERED, quota, ("spec", "hard", key), message, on_key=True)
