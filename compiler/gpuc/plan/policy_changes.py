"""Admission policies before and after a change: their stages, parameters and expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from gpuc.diagnostics.finding import Path
from gpuc.isolation.tenancy import labelled_tenancy
from gpuc.objects.object_set import dig, group
from gpuc.plan.change import Change, Pair

CONSTRAINTS = "constraints.gatekeeper.sh"
_NATIVE = ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy")
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
    def name(self) -> str:
        return self.pair.name

    @property
    def is_stricter(self) -> bool:
        """Whether the stage rises to warn or deny."""
        return _rank(self.after) > _rank(self.before) and self.after != "dryrun"

    @property
    def is_weaker(self) -> bool:
        """Whether the stage falls from deny or warn."""
        return _rank(self.after) < _rank(self.before) and self.before != "dryrun"

    @property
    def path(self) -> Path:
        """The path of the stage, or of the first other field that differs."""
        if self.before != self.after or not self.pair.is_changed:
            return ("spec", "enforcementAction")
        return next((field.path for field in self.pair.fields if field.is_below("spec")), ("spec",))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The settings of the policy that differ, if both states have the policy."""
        if not self.pair.is_changed:
            return ()
        names = (field.path[2] for field in self.pair.fields if field.is_below("spec", "parameters") and field.path[2:])
        return tuple(dict.fromkeys(map(str, names)))

    @property
    def scope(self) -> bool:
        """Whether the objects that the policy checks differ."""
        return self.pair.changes("spec", "match")


def policy_changes(change: Change) -> Iterator[PolicyChange]:
    """Yields the constraints that are added, removed or changed, without those of new and removed tenants."""
    tenants = _new_and_removed_tenants(change)
    for pair in change.all_pairs:
        if group(pair.manifest) != CONSTRAINTS or not pair.fields:
            continue
        if (pair.is_added or pair.is_removed) and any(pair.name.endswith(f"-{tenant}") for tenant in tenants):
            continue
        before, after = (None if one is None else one.document() for one in (pair.before, pair.after))
        yield PolicyChange(pair, _stage(before), _stage(after))


def by_policy(changes: Iterable[PolicyChange]) -> Iterator[tuple[str, list[PolicyChange]]]:
    """Yields the changes of the constraints of one policy with the same stages together, with the name of the policy.

    A policy can have a constraint for each tenant: nccl-profile-research is of the policy nccl-profile.
    """
    groups: dict[tuple[str, str, str], list[PolicyChange]] = {}
    for one in changes:
        groups.setdefault((one.pair.manifest.kind, one.before, one.after), []).append(one)
    for found in groups.values():
        columns = zip(*(one.name.split("-") for one in found), strict=False)
        common = [words[0] for words in takewhile(lambda words: len(set(words)) == 1, columns)]
        yield "-".join(common) or found[0].name, found


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


def stage_text(stage: str) -> str:
    """Returns a stage in words."""
    return stage or "no policy"


def _stage(document: Any) -> str:
    if document is None:
        return ""
    stage = dig(document, "spec", "enforcementAction")
    return stage if stage in _STAGES else "deny"


def _rank(stage: str) -> int:
    return _STAGES.index(stage)
