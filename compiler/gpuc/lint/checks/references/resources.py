import re
from collections.abc import Collection

from gpuc.cluster.flavors import FlavorCapacity, resource_flavors
from gpuc.cluster.index import Index
from gpuc.cluster.queue import from_objects
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, pairs
from gpuc.objects.paths import matching_values, pattern
from gpuc.parts.folders import table_beside

NOT_COVERED = rule_of("REF050")
USELESS_QUOTA_KEY = rule_of("REF051")
MISSPELT_RESOURCE = rule_of("REF052")
_TABLE = table_beside(__file__)
NAMED: list[tuple[str, str]] = [(kind, path) for kind, path in _TABLE["named"]]
_PREFIXES = ("requests.", "limits.")
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_STANDARD = {*_TABLE["standard"], *(f"{prefix}{name}" for prefix in ("", *_PREFIXES) for name in _NATIVE)}
_COUNTED_WITH_SLASH: list[str] = _TABLE["counted_with_slash"]
_MIG = re.compile(r"nvidia\.com/mig-(?:\d+c\.)?\d+g\.\d+gb(?:\.[a-z.+-]+)?")
"""Names of MIG devices under the mixed strategy (k8s-device-plugin v0.20.0, README.md)."""
_MISSPELT_MIG = re.compile(r"nvidia\.com/mig[-_.]?(\d+)g[-_.]?(\d+)g(?:b|i|ib)?(\.shared)?", re.IGNORECASE)
_DEVICES: list[str] = _TABLE["devices"]


@check(NOT_COVERED, USELESS_QUOTA_KEY, MISSPELT_RESOURCE)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about misspelt resources, useless keys of ResourceQuotas, and resources of no ClusterQueue."""
    index = objects.once(Index)
    for quota in index.tree.of("", "ResourceQuota"):
        yield from _quota_keys(quota)
    yield from _misspelt_names(index)
    # A configuration of Kueue can exclude resources from quota.
    if not any("excludeResourcePrefixes" in text for text in _config_texts(index)):
        yield from _nodes_covered(index)
        yield from _quotas_covered(index)


def _quota_keys(quota: Manifest) -> Findings:
    for key, _ in pairs(dig(quota.body, "spec", "hard")):
        if key in _STANDARD or key.startswith(("hugepages-", "requests.hugepages-")):
            continue
        message = hint = ""
        if "/" not in key and not key.startswith("count/"):
            hint = f"requests.{key.removeprefix('limits.')}" if "hugepages-" in key else ""
            message = "Kubernetes has no quota with this key and refuses the ResourceQuota"
        elif "/" in key and not key.startswith("requests.") and not any(part in key for part in _COUNTED_WITH_SLASH):
            message = "Kubernetes accepts this key but never counts it; extended resources are counted as "
            message, hint = f"{message}requests.<name>", f"requests.{key.removeprefix('limits.')}"
        if message:
            yield ObjectFinding(USELESS_QUOTA_KEY, quota, ("spec", "hard", key), message, write(hint), True)


def _misspelt_names(index: Index) -> Findings:
    offered = {name for overlay in index.tree.of("karpenter.sh", "NodeOverlay") for name in _capacity(overlay)}
    offered = {name for name in offered if not intended_resource(name, ())}
    for kind, field_path in NAMED:
        api_group, _, name = kind.rpartition("/")
        for manifest in index.tree.of(api_group, name):
            for path, value in matching_values(manifest.body, pattern(field_path)):
                if isinstance(value, str):
                    yield from _misspelt_name(manifest, path, value, offered, index, on_key=False)
                for key, _ in pairs(value):
                    yield from _misspelt_name(manifest, (*path, key), key, offered, index, on_key=True)
    for pods in index.pods:
        for path, text in pods.resources():
            yield from _misspelt_name(pods.manifest, path, text, offered, index, on_key=True)


def _misspelt_name(
    manifest: Manifest, path: Path, text: str, offered: set[str], index: Index, *, on_key: bool
) -> Findings:
    prefix = next((start for start in _PREFIXES if text.startswith(start)), "")
    name = text[len(prefix) :]
    suggestion = intended_resource(name, offered)
    if suggestion and not any(name in text for text in _config_texts(index)):
        message = f'no device has the name "{name}", did you mean "{suggestion}"'
        yield ObjectFinding(MISSPELT_RESOURCE, manifest, path, message, write(f"{prefix}{suggestion}"), on_key)


def _config_texts(index: Index) -> list[str]:
    """Returns the texts of all ConfigMaps, for example configurations of device plugins, which may rename devices."""
    maps = index.tree.of("", "ConfigMap")
    return [text for row in maps for _, text in pairs(dig(row.body, "data")) if isinstance(text, str)]


def _capacity(overlay: Manifest) -> list[str]:
    """Returns the resources that an overlay adds to nodes."""
    return [key for key, value in pairs(dig(overlay.body, "spec", "capacity")) if str(value).strip() not in ("0", "")]


def _nodes_covered(index: Index) -> Findings:
    """Yields findings about resources of nodes that the ClusterQueue of the nodes' flavor does not cover."""
    resources = _overlay_resources(index)
    if not resources:
        return
    flavors = index.tree.once(resource_flavors)
    by_flavor = {name: index.nodes.matching(row.labels) if row.labels else [] for name, row in flavors.items()}
    for queue in from_objects(index.tree).by_name.values():
        for resource_group in queue.groups:
            uncovered: dict[str, str] = {}
            for flavor in resource_group.flavors:
                for pool in by_flavor.get(flavor.name, []):
                    uncovered |= {name: pool.name for name in resources.get(pool.name, ()) if name not in queue.covered}
            for name, pool_name in uncovered.items():
                assert queue.manifest is not None, "a queue has an object"
                message = f"coveredResources lacks {name}, which nodes of NodePool {pool_name} have"
                yield ObjectFinding(NOT_COVERED, queue.manifest, (*resource_group.path, "coveredResources"), message)


def _overlay_resources(index: Index) -> dict[str, list[str]]:
    """Returns the extended resources and huge pages that overlays add to nodes, by node pool."""
    by_pool: dict[str, list[str]] = {}
    for pool in index.nodes.pools:
        for name in pool.listed_types or [""]:
            for overlay in pool.overlays(name):
                names = _capacity(overlay.manifest) if overlay.is_sure else ()
                by_pool.setdefault(pool.name, []).extend(
                    name for name in names if "/" in name or name.startswith("hugepages-")
                )
    return {name: list(dict.fromkeys(names)) for name, names in by_pool.items()}


def _quotas_covered(index: Index) -> Findings:
    """Yields findings about resources of a ResourceQuota that the ClusterQueues of its namespace do not cover.

    Resources of node pools without a ResourceFlavor are left out: pods outside of Kueue use these resources.
    """
    queues = from_objects(index.tree)
    outside = {name for pool in index.tree.once(FlavorCapacity).unqueued for name in pool.devices}
    for quota in index.tree.of("", "ResourceQuota"):
        names = queues.in_namespace.get(quota.namespace, [])
        if not names or not quota.namespace or any(name not in queues.by_name for name in names):
            continue
        covered_here = {resource for name in names for resource in queues.by_name[name].covered}
        for key, value in pairs(dig(quota.body, "spec", "hard")):
            name = key.removeprefix("requests.")
            is_request = key.startswith("requests.") and key != "requests.storage" and ".storageclass." not in key
            if is_request and name not in covered_here | outside and str(value).strip() != "0":
                message = f"the quota allows {name}, which ClusterQueue {', '.join(names)} does not cover"
                yield ObjectFinding(NOT_COVERED, quota, ("spec", "hard", key), message, on_key=True)


def intended_resource(name: str, offered: Collection[str]) -> str:
    """Returns the resource name that a misspelt name probably means; empty if gpuc finds no mistake in the name.

    Args:
        offered: names of further resources that objects of the input add to nodes.
    """
    if "/" not in name or name in offered or name in _DEVICES or _MIG.fullmatch(name):
        return ""
    if match := _MISSPELT_MIG.fullmatch(name):
        return f"nvidia.com/mig-{match[1]}g.{match[2]}gb{match[3] or ''}"
    return misspelt(name, {*_DEVICES, *offered})
