"""Impacts on ResourceQuotas, LimitRanges and other objects in the namespaces of tenants."""

from collections.abc import Iterator
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import amount, rounded
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import quantity
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, grouped, items
from gpuc.objects.object_set import pairs as object_pairs
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import MISSING, FieldChange
from gpuc.plan.impact import Impacts, Level, Prediction, Raised, impact
from gpuc.plan.namespace_limits import LimitChange, limit_changes, requested
from gpuc.plan.queue_usage import users_text
from gpuc.plan.tenant_changes import owner_of, pruned_in_namespaces, where_text
from gpuc.trace.workload import workload_of


@impact("IMP257", Level.NONE)
def namespace_quota_grows(change: Change) -> Impacts:
    """A ResourceQuota allows more in a namespace."""
    for limits in limit_changes(change, smaller=False):
        yield limits.raised()


@impact("IMP256", Level.RESTRICTS)
def namespace_quota_shrinks(change: Change) -> Impacts:
    """A ResourceQuota allows less in a namespace."""
    for limits in limit_changes(change, smaller=True):
        details = (
            "pods that run continue; while their requests are above the quota, the API server refuses new pods, also "
            "those that replace pods of running jobs",
            *(text for pair in limits.pairs for text in _above(change, pair)),
        )
        yield limits.raised(details, tuple(_predictions(change, limits)))


def _predictions(change: Change, limits: LimitChange) -> Iterator[Prediction]:
    """Yields a refusal for each namespace.

    If a namespace has a LocalQueue, the refusal depends on the pods without a queue.
    """
    queued = {local.namespace for local in change.before.objects.of(GROUP, "LocalQueue")}
    for pair in limits.pairs if limits.has_gpus else ():
        outcome = "perhaps refused" if pair.namespace in queued else "refused"
        yield Prediction(f"workloads of namespace {pair.namespace}", outcome)


def _above(change: Change, pair: Pair) -> Iterator[str]:
    """Yields a sentence for each resource of which the objects of --workloads request more than the new quota."""
    namespace = pair.namespace
    total = requested(change, namespace) if change.workloads else {}
    for name, count in total.items():
        limit = amount(name, dig(pair.values("spec", "hard")[1], f"requests.{name}"))
        if limit is not None and count > limit:
            allowed = rounded(name, limit)
            yield f"the objects of --workloads in {namespace} request {rounded(name, count)}, above {allowed}"


_WORDS = {
    "defaultRequest": ("without a request get", "without a request get no default of"),
    "default": ("without a limit get", "without a limit get no default of"),
    "max": ("may have at most", "have no maximum of"),
    "min": ("must have at least", "have no minimum of"),
    "maxLimitRequestRatio": ("may have this ratio of limit and request at most:", "have no maximum ratio of"),
}
"""The words for a limit, and for a limit that is removed, by the field of the LimitRange."""
_NOUNS = {"Container": "containers", "Pod": "pods", "PersistentVolumeClaim": "PersistentVolumeClaims"}


@impact("IMP260", Level.RESTRICTS)
def default_requests_change(change: Change) -> Impacts:
    """The LimitRange of a namespace changes: the default requests, default limits, minimums or maximums of its pods."""
    changed = (pair for pair in change.kept("", "LimitRange") if _limit_texts(pair)[0])
    groups = grouped(changed, lambda pair: (owner_of(change, pair.namespace), _limit_texts(pair)[0]))
    for (owner, texts), ranges in groups.items():
        where = where_text(owner, (pair.namespace for pair in ranges))
        yield Raised(owner, f"{', '.join(texts)}{where}", ranges[0].after, _limit_texts(ranges[0])[1][0])


def _limit_texts(pair: Pair) -> tuple[tuple[str, ...], list[Path]]:
    """Returns the limits that differ, in words, and their paths."""
    before, after = (_limits(value) for value in pair.values("spec", "limits"))
    found: dict[str, list[str]] = {}
    paths = []
    for key in dict.fromkeys((*after, *before)):
        (old_path, old), (path, new) = (limits.get(key, ((), None)) for limits in (before, after))
        if (quantity(old) or old) != (quantity(new) or new):
            paths.append(path or old_path)
            (of, field, resource), instead = key, "" if old is None else f" instead of {old}"
            text = resource if new is None else f"{resource} {new}{instead}"
            found.setdefault(f"{_NOUNS.get(of, of)} {_WORDS[field][new is None]}", []).append(text)
    return tuple(f"{words} {' and '.join(texts)}" for words, texts in found.items()), paths


def _limits(value: Any) -> dict[tuple[str, str, str], tuple[Path, Any]]:
    """Returns the path and the quantity of each limit, by the type of objects, the field and the resource."""
    return {
        (str(dig(entry, "type")), field, resource): (("spec", "limits", index, field, resource), limit)
        for index, entry in items(value)
        for field in _WORDS
        for resource, limit in object_pairs(dig(entry, field))
    }


@impact("IMP261", Level.DISRUPTS)
def service_account_removed(change: Change) -> Impacts:
    """A ServiceAccount is removed from a namespace that stays."""
    for pair in pruned_in_namespaces(change, "ServiceAccount"):
        message = f"ServiceAccount {pair.name} is removed: pods that name it are refused, and pods that run lose access"
        of_namespace = [manifest for manifest in change.workloads if manifest.namespace == pair.namespace]
        users = [manifest for manifest in of_namespace if pair.name in _service_accounts(manifest)]
        details = (
            "pods of running jobs that are created again are refused, too",
            *users_text("that name it", users),
        )
        yield Raised(f"namespace {pair.namespace}", message, pair.before, (), details)


def _service_accounts(manifest: Manifest) -> set[str]:
    """Returns the ServiceAccounts that the pods of an object name."""
    workload = workload_of(manifest)
    return {dig(pods.pod, "serviceAccountName") for pods in workload.pod_sets} if workload else set()


@impact("IMP258", Level.DISRUPTS)
def nccl_profile_removed(change: Change) -> Impacts:
    """A namespace loses the ConfigMap with the NCCL variables of a profile."""
    removed = [pair for pair in pruned_in_namespaces(change, "ConfigMap") if pair.name.startswith(_NCCL)]
    for name, pairs in grouped(removed, lambda pair: pair.name).items():
        namespaces = ", ".join(pair.namespace for pair in pairs)
        message = f"ConfigMap {name} is removed from {namespaces}: containers that read it do not start any more"
        details = ("containers that run continue; pods of running jobs that are created again fail to start",)
        yield Raised(f"NCCL profile {name.removeprefix(_NCCL)}", message, pairs[0].before, (), details)


_NCCL = "nccl-"


@impact("IMP259", Level.NONE)
def nccl_environment_changes(change: Change) -> Impacts:
    """The environment variables for NCCL in a profile change."""
    profiles = [pair for pair in change.pairs("", "ConfigMap") if pair.name.startswith(_NCCL) and pair.changes("data")]
    for name, pairs in grouped(profiles, lambda pair: pair.name).items():
        fields = [field for field in pairs[0].leaves if field.is_below("data") and field.path != ("data",)]
        if fields:
            message = f"containers that start get {', '.join(map(_variable_text, fields))}"
            details = ("if one pod of a running job starts again, its variables differ from those of the other pods",)
            path = next(field.path for field in pairs[0].fields if field.is_below("data"))
            yield Raised(f"NCCL profile {name.removeprefix(_NCCL)}", message, pairs[0].after, path, details)


def _variable_text(field: FieldChange) -> str:
    name = field.path[-1]
    if field.after is MISSING:
        return f"no {name} (before {field.before})"
    return f"{name}={field.after}" + ("" if field.before is MISSING else f" instead of {field.before}")
