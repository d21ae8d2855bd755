"""Finds the limits of ResourceQuotas that a change raises or lowers, grouped by tenant."""

from collections.abc import Iterator

from msgspec import Struct

from gpuc.admission.resource_quotas import BY_STORAGE_CLASS
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, Amounts, exact_amount, total
from gpuc.kubernetes.kueue import GROUP
from gpuc.model.names import EFA
from gpuc.model.units import Unit, unit_name
from gpuc.objects.object_set import dig, pairs
from gpuc.objects.pod_resources import pod_requests
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction, Raised
from gpuc.plan.quota_changes import GPU_PREFIXES, quota_changes
from gpuc.plan.tenant_changes import owner_of, where_text
from gpuc.trace.workload import created_pods, workload_of

_REQUESTS, _LIMITS = "requests.", "limits."
_CPU_AND_MEMORY = (f"{_REQUESTS}{CPU}", f"{_REQUESTS}{MEMORY}")
_DERIVED = (*_CPU_AND_MEMORY, *(f"{_REQUESTS}{name}" for name in (EPHEMERAL_STORAGE, EFA, "hugepages-")))
"""How the limits begin that gpuc computes from the number of nodes."""


class LimitChange(Struct, frozen=True):
    """Limits of ResourceQuotas that change in the same way in one or more namespaces of a tenant."""

    owner: str
    """The tenant, or the namespace of no tenant."""
    pairs: tuple[Pair, ...]
    """The ResourceQuotas."""
    texts: tuple[str, ...]
    """The limits: "at most 112 instead of 128 GPUs"."""
    keys: tuple[str, ...]
    """The keys of spec.hard."""

    def raised(self, details: tuple[str, ...] = (), predicts: tuple[Prediction, ...] = ()) -> Raised:
        """Returns an impact that is caused by these changed limits."""
        where = where_text(self.owner, (pair.namespace for pair in self.pairs))
        message = f"the ResourceQuota allows {', '.join(self.texts)}{where}"
        return Raised(self.owner, message, self.pairs[0].after, self.path, details, predicts)

    @property
    def has_gpus(self) -> bool:
        """Whether GPUs, MIG slices or GPU shares are among the changed limits."""
        return any(key.removeprefix(_REQUESTS).startswith(GPU_PREFIXES) for key in self.keys)

    @property
    def path(self) -> Path:
        """The path of a changed limit in the ResourceQuota: the limit of cpu, or else the first changed limit."""
        return ("spec", "hard", next((key for key in self.keys if key == "requests.cpu"), self.keys[0]))


def limit_changes(change: Change, *, smaller: bool) -> list[LimitChange]:
    """Returns the limits that shrink (`smaller`) or grow, in ResourceQuotas that exist before and after the change."""
    before, after = change.before.cluster, change.after.cluster
    changes_quota = any("quota" in changed.path for changed in change.spec_changes) or quota_changes(change)
    # A node has other resources: the impact node_resources_shrink reports the limits of the namespaces of queues.
    is_derived = before is not None and after is not None and not changes_quota
    queued = {local.namespace for local in change.after.objects.of(GROUP, "LocalQueue")}
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Pair]] = {}
    for pair in change.pairs("", "ResourceQuota"):
        found = dict(_limits(pair, smaller)) if pair.changes("spec", "hard") else {}
        main = [key for key in found if not key.startswith(_DERIVED)]
        is_reported = is_derived and pair.namespace in queued and not main
        if found and not is_reported:
            # Derived limits are not shown if other limits differ; of derived limits, cpu and memory are shown.
            shown = main or [key for key in found if key in _CPU_AND_MEMORY] or list(found)
            key = owner_of(change, pair.namespace), tuple(found[key] for key in shown), tuple(found)
            groups.setdefault(key, []).append(pair)
    return [LimitChange(owner, tuple(pairs), texts, keys) for (owner, texts, keys), pairs in groups.items()]


def requested(change: Change, namespace: str) -> Amounts:
    """Returns the resources that all objects from --workloads request together in a namespace."""
    workloads = [workload_of(manifest) for manifest in change.workloads if manifest.namespace == namespace]
    return total(
        {name: count * pods.count * workload.copies for name, count in pod_requests(pods.pod).items()}
        for workload in workloads
        if workload is not None
        for pods in created_pods(change.before.objects, workload)
    )


def _limits(pair: Pair, smaller: bool) -> Iterator[tuple[str, str]]:
    """Yields the key and the text of each limit that shrinks or grows."""
    before, after = pair.values("spec", "hard")
    for key in dict.fromkeys(key for hard in (after, before) for key, _ in pairs(hard) if isinstance(key, str)):
        storage_class, _, name = key.rpartition(BY_STORAGE_CLASS)
        resource = name.removeprefix(_REQUESTS).removeprefix(_LIMITS)
        old, new = (exact_amount(resource, dig(hard, key)) for hard in (before, after))
        is_smaller = new is not None and (old is None or new < old)
        if old != new and is_smaller == smaller:
            instead = Unit(resource, unit_name(None, resource)).instead(old, new)
            suffix = f" of class {storage_class}" if storage_class else " in limits" if key.startswith(_LIMITS) else ""
            yield key, f"{instead}{suffix}"
