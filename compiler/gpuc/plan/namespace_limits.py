"""Changes of the limits in the ResourceQuotas of namespaces, by tenant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import Amounts, amount, rounded
from gpuc.objects.object_set import dig
from gpuc.plan.change import Change, Pair
from gpuc.plan.quota_changes import GPU_PREFIXES, quota_changes, unit_name
from gpuc.plan.tenant_changes import owner_of
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.limits import container_limits
from gpuc.trace.workload import pod_requests, workload_of

_COUNTS = {
    "services.loadbalancers": "Services of type LoadBalancer",
    "services.nodeports": "node ports",
    "persistentvolumeclaims": "PersistentVolumeClaims",
    "count/jobs.batch": "Jobs",
    "pods": "pods",
}
_REQUESTS = "requests."


@dataclass(frozen=True)
class LimitChange:
    """Limits that differ in the same way in several namespaces of a tenant."""

    owner: str
    """The tenant, or the namespace of no tenant."""
    pairs: tuple[Pair, ...]
    """The ResourceQuotas."""
    texts: tuple[str, ...]
    """The limits: "at most 112 instead of 128 GPUs"."""
    keys: tuple[str, ...]
    """The keys of spec.hard."""

    @property
    def namespaces(self) -> str:
        """The namespaces in words; empty if the owner is the namespace."""
        names = [pair.manifest.namespace for pair in self.pairs]
        if self.owner == f"namespace {names[0]}":
            return ""
        return f" in {', '.join(dict.fromkeys(names))}"

    @property
    def has_gpus(self) -> bool:
        """Whether a limit of GPUs, slices or shares is among them."""
        return any(key.removeprefix(_REQUESTS).startswith(GPU_PREFIXES) for key in self.keys)

    @property
    def path(self) -> Path:
        """The path of a changed limit: of cpu, because every quota has cpu, or else of the first one."""
        return ("spec", "hard", next((key for key in self.keys if key == "requests.cpu"), self.keys[0]))


def limit_changes(change: Change, *, smaller: bool) -> list[LimitChange]:
    """Returns the limits of ResourceQuotas that exist before and after the change, and that shrink or grow."""
    is_derived = _is_derived(change)
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Pair]] = {}
    for pair in change.pairs("", "ResourceQuota"):
        if not pair.changes("spec", "hard"):
            continue
        found = dict(_limits(pair, smaller))
        if found and not (is_derived and not _main(found)):
            texts = tuple(text for key, text in found.items() if key in _shown(found))
            key = owner_of(change, pair.manifest.namespace), texts, tuple(found)
            groups.setdefault(key, []).append(pair)
    return [LimitChange(owner, tuple(pairs), texts, keys) for (owner, texts, keys), pairs in groups.items()]


def requested(change: Change, namespace: str) -> Amounts:
    """Returns the requests of all objects of --workloads in a namespace."""
    index = ClusterIndex(change.before.objects)
    total: Amounts = {}
    for manifest in change.workloads:
        workload = workload_of(manifest) if manifest.namespace == namespace else None
        for pods in workload.pod_sets if workload else ():
            copies = pods.count * (workload.copies if workload else 1)
            for name, count in pod_requests(pods.pod, container_limits(index, namespace)).items():
                total[name] = total.get(name, 0) + count * copies
    return total


def _limits(pair: Pair, smaller: bool) -> Iterator[tuple[str, str]]:
    """Yields the key and the text of each limit that shrinks or grows."""
    before, after = pair.values("spec", "hard")
    for key in dict.fromkeys((*(after or ()), *(before or ()))):
        resource = str(key).removeprefix(_REQUESTS)
        old, new = (amount(resource, dig(hard, key)) for hard in (before, after))
        is_smaller = new is not None and (old is None or new < old)
        if old != new and is_smaller == smaller:
            yield str(key), _text(resource, old, new)


def _text(resource: str, old: int | None, new: int | None) -> str:
    unit = _COUNTS.get(resource) or unit_name(None, resource)
    texts = [
        "any amount" if count is None else (f"{count} {unit}" if unit else rounded(resource, count))
        for count in (new, old)
    ]
    if old is not None and new is not None:
        texts[0] = texts[0].partition(" ")[0]
    return f"{'at most ' if new is not None else ''}{texts[0]} instead of {texts[1]}"


def _shown(found: dict[str, str]) -> list[str]:
    """Returns the keys to show: without derived resources, if GPUs or counts differ; of derived resources, only cpu."""
    return _main(found) or [key for key in found if key == "requests.cpu"] or list(found)


def _main(found: dict[str, str]) -> list[str]:
    return [key for key in found if key in _COUNTS or key.removeprefix(_REQUESTS).startswith(GPU_PREFIXES)]


def _is_derived(change: Change) -> bool:
    """Returns whether limits of cpu and memory differ only because a node has other resources.

    The impact node_resources_shrink reports these changes.
    """
    has_specs = change.before.cluster is not None and change.after.cluster is not None
    changes_quota = any("quota" in changed.path for changed in change.spec_changes)
    return has_specs and not changes_quota and next(quota_changes(change), None) is None
