"""Finds the admission policies whose stage, expressions or settings change.

The stage is dryrun, warn or deny. The settings, for example a list of registries, decide what a policy refuses.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.words import first_names, kind_of
from gpuc.isolation.tenancy import TENANT_LABEL, labelled_tenancy
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.objects.object_set import dig, group, grouped, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction, Raised

_NATIVE = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
_BINDING = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding")
_ACTIONS = {"Deny": "deny", "Warn": "warn", "Audit": "dryrun"}
"""The stages by the actions of a binding. The first of the actions that a binding has is its stage."""
_STAGES = ("", "dryrun", "warn", "deny")
"""The stages by strictness; the first is a policy that does not exist."""


class PolicyChange(Struct, frozen=True):
    """The change of a Gatekeeper constraint, or of the binding of a ValidatingAdmissionPolicy."""

    pair: Pair
    before: str
    """The stage before: "" without the policy, dryrun, warn or deny."""
    after: str

    @property
    def tenant(self) -> str:
        """The tenant whose objects the policy checks; an empty string if it checks the objects of all tenants."""
        labels = dig(self.pair.manifest.body, "spec", "match", "namespaceSelector", "matchLabels")
        return str(dig(labels, TENANT_LABEL) or "")

    @property
    def name(self) -> str:
        """The name of the policy. The name of a constraint for one tenant is POLICY-TENANT; the tenant is left out."""
        policy = dig(self.pair.manifest.body, "spec", "policyName")
        return str(policy or self.pair.name.removesuffix(f"-{self.tenant}"))

    @property
    def stages(self) -> str:
        """The stages after and before the change (dryrun, warn or deny) in words: "deny instead of no policy"."""
        return f"{self.after or 'no policy'} instead of {self.before or 'no policy'}"

    def raised(self, message: str, details: Iterable[str] = (), predicts: tuple[Prediction, ...] = ()) -> Raised:
        """Returns an impact that is caused by the field that contains the stage: dryrun, warn or deny."""
        return Raised(f"policy {self.name}", message, self.pair.manifest, self.path, tuple(details), predicts)

    @property
    def is_stricter(self) -> bool:
        """Whether the policy gets a stricter stage. The order is: no policy, dryrun, warn, deny."""
        return _STAGES.index(self.after) > _STAGES.index(self.before)

    @property
    def is_weaker(self) -> bool:
        """Whether the policy had the stage deny or warn, and gets a less strict stage or is removed."""
        return _STAGES.index(self.after) < _STAGES.index(self.before) and self.before != "dryrun"

    @property
    def path(self) -> Path:
        """The path of the field with the policy's stage (dryrun, warn or deny), such as spec.enforcementAction."""
        return ("spec", "validationActions" if self.pair.manifest.kind == _BINDING[1] else "enforcementAction")

    @property
    def scope(self) -> Path:
        """The path of the first changed field that selects objects for the policy; empty if no such field changes."""
        keys = ("match", "matchResources", "paramRef")
        fields = self.pair.fields if self.pair.is_changed else ()
        return next((field.path for field in fields if any(field.is_below("spec", key) for key in keys)), ())


def policy_changes(change: Change) -> Iterator[PolicyChange]:
    """Yields the changed Gatekeeper constraints and policy bindings, if the cluster exists before and after the change.

    The constraints of new and removed tenants are left out.
    """
    if not (change.before.exists and change.after.exists):
        return
    tenants = _new_and_removed_tenants(change)
    for pair in change.all_pairs:
        manifest = pair.manifest
        is_policy = group(manifest) == CONSTRAINTS or (group(manifest), manifest.kind) == _BINDING
        if is_policy and pair.fields:
            stages = (_stage(None if state is None else state.document()) for state in (pair.before, pair.after))
            policy = PolicyChange(pair, *stages)
            if pair.is_changed or policy.tenant not in tenants:
                yield policy


def by_policy(changes: Iterable[PolicyChange]) -> Iterator[list[PolicyChange]]:
    """Yields the constraints in groups. In a group, the policy, the stage before and the stage after are the same.

    A policy can have a constraint for each tenant. For example, nccl-profile-research is a constraint of the policy
    nccl-profile for the tenant research.
    """
    yield from grouped(changes, lambda policy: (policy.name, policy.before, policy.after)).values()


def policy_data_changes(change: Change) -> Iterator[Pair]:
    """Yields the ValidatingAdmissionPolicies of which only the data changes, for example the limits for each tenant.

    If the change adds or removes a tenant, the result is empty, because the data then changes for this reason.
    """
    is_known = not _new_and_removed_tenants(change)
    return (pair for pair in change.pairs(*_NATIVE) if is_known and pair.changes("spec") and not _has_other_rules(pair))


def template_changes(change: Change) -> Iterator[Pair]:
    """Yields the ConstraintTemplates and ValidatingAdmissionPolicies whose expressions change."""
    yield from (pair for pair in change.pairs("templates.gatekeeper.sh", "ConstraintTemplate") if pair.changes("spec"))
    yield from (pair for pair in change.pairs(*_NATIVE) if _has_other_rules(pair))


def _has_other_rules(pair: Pair) -> bool:
    return any(pair.changes("spec", key) for key in ("validations", "matchConditions", "failurePolicy"))


def _new_and_removed_tenants(change: Change) -> set[str]:
    before, after = (set(labelled_tenancy(state.objects).names) for state in (change.before, change.after))
    return before ^ after


def perhaps_refused(change: Change, tenants: Collection[str]) -> tuple[Prediction, ...]:
    """Returns predictions that workloads are perhaps refused, for a policy that refuses more than before.

    Args:
        tenants: the tenants whose objects the policy checks; empty for all tenants.
    """
    owners = labelled_tenancy(change.after.objects).tenants
    names = sorted(name for name, tenant in owners.items() if not tenants or tenant in tenants)
    return tuple(Prediction(f"workloads of namespace {name}", "perhaps refused") for name in names)


def _stage(document: Any) -> str:
    if document is None:
        return ""
    if document.get("kind") == _BINDING[1]:
        actions = [action for _, action in items(dig(document, "spec", "validationActions"))]
        return next((stage for action, stage in _ACTIONS.items() if action in actions), "dryrun")
    stage = dig(document, "spec", "enforcementAction")
    return stage if stage in _STAGES else "deny"


_ALLOWED = {
    "GpucExposure": {"granted"},
    "GpucExposureAnnotations": {"annotations", "granted", "known"},
    "GpucGpuQuota": {"controllers", "pools"},
    "GpucGpuResources": {"resources"},
    "GpucImages": {"registries"},
    "GpucOwnedWorkloads": {"controllers"},
    "GpucPoolSelector": {"pools"},
    "GpucQueueRequired": {"controllers", "pools", "priorities", "queues"},
    "GpucTolerationFence": {"taints"},
}
"""The settings that list what objects may use. Source: the expressions in policies/*/policy.yaml."""
_REQUIRED = {
    "GpucGpuQueue": {"gpuQueues"},
    "GpucMpsClients": {"pools"},
    "GpucNcclProfile": {"profiles"},
    "GpucPoolSelector": {"choices"},
}
"""The settings for whose entries a policy requires something of objects."""
_MOST = {"GpucGpuLimits": {"limits"}, "GpucGpuQuota": {"graceSeconds"}}
"""The settings that are maxima."""
_SILENT = {
    "GpucExposureAnnotations": {"values"},
    "GpucGpuQueue": {"cpuQueues"},
    "GpucNetworkPolicyFence": {"egressBlocks", "egressNamespaces", "ingressBlocks", "ingressNamespaces", "tenant"},
}
"""The settings that only a message uses, or that follow from network paths. The impacts on networks name the paths."""
_IN_POOL = " in pool "
_ENTRIES = 4
"""The maximum number of entries in a message."""


class SettingChange(Struct, frozen=True):
    """What a policy newly refuses, or newly allows, because one of its settings changes."""

    words: str
    """For example "no longer allows registries nvcr.io/"."""
    refuses_more: bool
    path: Path
    """The path of the setting in the constraint."""


def policy_settings(change: Change, stage: str, *, refuses_more: bool, effect: str = "") -> Iterator[Raised]:
    """Yields an impact for each policy whose changed settings refuse more (`refuses_more`), or allow more.

    If the settings change in the same way for several tenants, the function yields one impact.

    Args:
        stage: only policies with this stage: warn or deny.
        effect: what happens to violations, for the end of the message.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[PolicyChange, Path]]] = defaultdict(list)
    namespaces = set(change.before.objects.namespaces) & set(change.after.objects.namespaces)
    for policy in policy_changes(change):
        if policy.pair.is_changed and policy.after == stage:
            settings = setting_changes(policy.pair, namespaces)
            found = [setting for setting in settings if setting.refuses_more == refuses_more]
            if policy.scope and refuses_more:
                found.append(SettingChange("checks other objects", True, policy.scope))
            if found:
                groups[policy.name, tuple(setting.words for setting in found)].append((policy, found[0].path))
    for (name, words), places in groups.items():
        tenants = tuple(policy.tenant for policy, _ in places if policy.tenant)
        for_tenants = f" for {kind_of(tenants, 'tenant')}" if tenants else ""
        first, path = places[0]
        predicts = perhaps_refused(change, tenants) if refuses_more and stage == "deny" else ()
        message = f"{'; '.join(words)}{for_tenants}{effect}"
        yield Raised(f"policy {name}", message, first.pair.manifest, path, (), predicts)


def setting_changes(pair: Pair, namespaces: set[str]) -> Iterator[SettingChange]:
    """Yields what a Gatekeeper constraint newly refuses or allows because of its settings (`spec.parameters`).

    Args:
        namespaces: the namespaces that exist before and after the change. Entries for other namespaces are ignored.
    """
    kind = pair.manifest.kind
    for name, value in _parameters(pair):
        if name in _SILENT.get(kind, ()):
            continue
        path = ("spec", "parameters", name)
        old, new = (_entries(side, namespaces) for side in value)
        if name in _MOST.get(kind, ()):
            yield from _maxima(old, new, name, path)
        elif name in _ALLOWED.get(kind, ()):
            yield from _listed(old, new, path, f"no longer allows {name}", f"allows {name}")
        elif name in _REQUIRED.get(kind, ()):
            words = f"has a requirement for {name}", f"has no requirement any more for {name}"
            yield from _listed(new, old, path, *words)
            for entry, number in new.items():
                if old.get(entry, number) != number:
                    requires = f"requires {number:g} instead of {old[entry]:g} for {entry}"
                    yield SettingChange(requires, True, path)
        else:
            is_scalar = all(isinstance(side, str | int | float) for side in value)
            values = f"is {value[1]} instead of {value[0]}" if is_scalar else "changes"
            yield SettingChange(f"setting {name} {values}", True, path)


def _parameters(pair: Pair) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yields the settings of a constraint that differ, with both values; None for a missing setting."""
    before, after = (value if isinstance(value, dict) else {} for value in pair.values("spec", "parameters"))
    for name in dict.fromkeys((*after, *before)):
        if before.get(name) != after.get(name):
            yield name, (before.get(name), after.get(name))


def _listed(
    some: Mapping[str, float], others: Mapping[str, float], path: Path, refuses: str, allows: str
) -> Iterator[SettingChange]:
    """Yields what a policy refuses because of entries in the first list only, and allows because of the second list."""
    for found, words, refuses_more in (
        ([entry for entry in some if entry not in others], refuses, True),
        ([entry for entry in others if entry not in some], allows, False),
    ):
        if found:
            yield SettingChange(f"{words} {first_names(found, _ENTRIES)}", refuses_more, path)


def _maxima(old: Mapping[str, float], new: Mapping[str, float], name: str, path: Path) -> Iterator[SettingChange]:
    """Yields the changes of maxima. The maximum of a pool and the maximum of all pools both count for the pool."""
    for entry in dict.fromkeys((*new, *old)):
        of = entry or name
        entries = {entry, entry.partition(_IN_POOL)[0]}
        before, after = (min((most[key] for key in entries & most.keys()), default=None) for most in (old, new))
        if before == after:
            continue
        if after is None:
            yield SettingChange(f"has no maximum of {of} any more", False, path)
        elif before is None:
            yield SettingChange(f"allows at most {after:g} {of}", True, path)
        else:
            yield SettingChange(f"allows at most {after:g} {of} instead of {before:g}", after < before, path)


def _entries(value: Any, namespaces: set[str]) -> dict[str, float]:
    """Returns the entries of a setting in words, each with the number of the entry. An entry without a number has 0."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"": value}
    found: dict[str, float] = {}
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            if item.get("namespace", "") in ("", *namespaces):
                found |= _of_map(item)
        elif item is not None:
            found[str(item)] = 0
    return found


def _of_map(item: dict[str, Any]) -> dict[str, float]:
    """Returns the entries of a map: one for each text of a list in the map, or one for the complete map."""
    texts = [str(item["namespace"])] if item.get("namespace") else []
    rows = sorted(item.items(), key=lambda row: str(row[0]))
    texts += [str(value) for key, value in rows
              if isinstance(value, str) and value and key not in ("namespace", "pool")]  # fmt: skip
    if item.get("pool"):
        texts = [f"{' '.join(texts)}{_IN_POOL}{item['pool']}" if texts else str(item["pool"])]
    number = next((value for value in item.values() if isinstance(value, int)), 0)
    lists = [(key, value) for key, value in rows if isinstance(value, list)]
    if not lists:
        return {("=" if set(item) == {"key", "value"} else " ").join(texts): number}
    prefix = f"{' '.join(texts)}: " if texts else ""
    return {f"{prefix}{'*' if key == 'suffixes' else ''}{text}": number for key, values in lists for text in values}
