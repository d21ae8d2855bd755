"""Admission policies before and after a change: their stages, parameters and expressions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.isolation.tenancy import TENANT_LABEL, labelled_tenancy
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.objects.object_set import dig, group, items
from gpuc.plan.change import Change, Pair
from gpuc.plan.impact import Prediction

_NATIVE = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
_BINDING = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding")
_ACTIONS = {"Deny": "deny", "Warn": "warn", "Audit": "dryrun"}
"""The stages by the actions of a binding. The first of the actions that a binding has is its stage."""
_STAGES = ("", "dryrun", "warn", "deny")
"""The stages by strictness; the first is a policy that does not exist."""


@dataclass(frozen=True)
class PolicyChange:
    """The change of a constraint of Gatekeeper, or of a ValidatingAdmissionPolicy."""

    pair: Pair
    before: str
    """The stage before: "" without the policy, dryrun, warn or deny."""
    after: str

    @property
    def tenant(self) -> str:
        """The tenant whose objects the policy checks; empty for the objects of all tenants."""
        return str(
            dig(self.pair.manifest.body, "spec", "match", "namespaceSelector", "matchLabels", TENANT_LABEL) or ""
        )

    @property
    def name(self) -> str:
        """The name of the policy. Its constraints have this name and the name of a tenant."""
        policy = dig(self.pair.manifest.body, "spec", "policyName")
        return str(policy or self.pair.name.removesuffix(f"-{self.tenant}"))

    @property
    def is_stricter(self) -> bool:
        """Whether the stage rises."""
        return _rank(self.after) > _rank(self.before)

    @property
    def is_weaker(self) -> bool:
        """Whether the stage falls from deny or warn."""
        return _rank(self.after) < _rank(self.before) and self.before != "dryrun"

    @property
    def path(self) -> Path:
        """The path of the stage."""
        return ("spec", "validationActions" if self.pair.manifest.kind == _BINDING[1] else "enforcementAction")

    @property
    def scope(self) -> Path:
        """The path of the first field that selects other objects; an empty path without such a field."""
        keys = ("match", "matchResources", "paramRef")
        fields = self.pair.fields if self.pair.is_changed else ()
        return next((field.path for field in fields if any(field.is_below("spec", key) for key in keys)), ())


def policy_changes(change: Change) -> Iterator[PolicyChange]:
    """Yields the constraints and bindings that are added, removed or changed, of a cluster that both states have.

    The constraints of new and removed tenants do not count.
    """
    if not (change.before.exists and change.after.exists):
        return
    tenants = _new_and_removed_tenants(change)
    for pair in change.all_pairs:
        manifest = pair.manifest
        is_policy = group(manifest) == CONSTRAINTS or (group(manifest), manifest.kind) == _BINDING
        if is_policy and pair.fields:
            stages = (_stage(None if state is None else state.document()) for state in (pair.before, pair.after))
            one = PolicyChange(pair, *stages)
            if pair.is_changed or one.tenant not in tenants:
                yield one


def by_policy(changes: Iterable[PolicyChange]) -> Iterator[tuple[str, list[PolicyChange]]]:
    """Yields the changes of the constraints of one policy with the same stages together, with the name of the policy.

    A policy can have a constraint for each tenant: nccl-profile-research is of the policy nccl-profile.
    """
    groups: dict[tuple[str, str, str], list[PolicyChange]] = defaultdict(list)
    for one in changes:
        groups[one.name, one.before, one.after].append(one)
    for (name, _, _), found in groups.items():
        yield name, found


def policy_data_changes(change: Change) -> Iterator[Pair]:
    """Yields the ValidatingAdmissionPolicies of which only data changes, such as limits by tenant.

    The data of new and removed tenants does not count.
    """
    if _new_and_removed_tenants(change):
        return
    for pair in change.pairs(*_NATIVE):
        if pair.changes("spec") and not _changes_expressions(pair):
            yield pair


def template_changes(change: Change) -> Iterator[Pair]:
    """Yields the ConstraintTemplates and ValidatingAdmissionPolicies whose expressions change."""
    for kind in (("templates.gatekeeper.sh", "ConstraintTemplate"), _NATIVE):
        for pair in change.pairs(*kind):
            if pair.changes("spec") and (kind != _NATIVE or _changes_expressions(pair)):
                yield pair


def _changes_expressions(pair: Pair) -> bool:
    return any(pair.changes("spec", key) for key in ("validations", "matchConditions", "failurePolicy"))


def _new_and_removed_tenants(change: Change) -> set[str]:
    before, after = (set(labelled_tenancy(state.objects).names) for state in (change.before, change.after))
    return before ^ after


def perhaps_refused(change: Change, tenants: Collection[str]) -> tuple[Prediction, ...]:
    """Returns the predictions of a policy that refuses more: workloads that violate the policy cannot start again.

    Args:
        tenants: the tenants whose objects the policy checks; empty for all tenants.
    """
    owners = labelled_tenancy(change.after.objects).tenants
    names = sorted(name for name, tenant in owners.items() if not tenants or tenant in tenants)
    return tuple(Prediction(f"workloads of namespace {name}", "perhaps refused") for name in names)


def stage_text(stage: str) -> str:
    """Returns a stage in words."""
    return stage or "no policy"


def _stage(document: Any) -> str:
    if document is None:
        return ""
    if document.get("kind") == _BINDING[1]:
        actions = [action for _, action in items(dig(document, "spec", "validationActions"))]
        return next((stage for action, stage in _ACTIONS.items() if action in actions), "dryrun")
    stage = dig(document, "spec", "enforcementAction")
    return stage if stage in _STAGES else "deny"


def _rank(stage: str) -> int:
    return _STAGES.index(stage)
