"""Decides whether the constraints of Gatekeeper allow a request.

Gatekeeper creates a ValidatingAdmissionPolicy from each ConstraintTemplate with CEL expressions. The API server
evaluates this policy. The webhook of Gatekeeper evaluates the same expressions. For a workload, the webhook also
evaluates the pods that the workload will create.

Source: gatekeeper v3.23.0 pkg/webhook/policy.go, pkg/drivers/k8scel/driver.go, pkg/util/enforcement_action.go
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple

from gpuc.admission.gatekeeper_expansion import Expanded, Expansions
from gpuc.admission.gatekeeper_match import in_match, in_policy_match, is_for_webhook
from gpuc.admission.gatekeeper_scope import GatekeeperScope
from gpuc.admission.policy_expressions import GATEKEEPER_ROOTS, Evaluation, PolicySource, Verdict, policy_source
from gpuc.admission.policy_review import Review, strings
from gpuc.admission.request import Decision
from gpuc.admission.schema_defaults import with_schema_defaults
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items

PARAMETERS: Path = ("spec", "parameters")
"""The path of the parameters in a constraint."""
_ENGINE = "K8sNativeValidation"
_WEBHOOK_POINTS = frozenset(("*", "validation.gatekeeper.sh"))
_POLICY_POINTS = frozenset(("*", "vap.k8s.io"))
_MUTATIONS = "mutations.gatekeeper.sh"
_MUTATORS = ("AssignMetadata", "Assign", "AssignImage", "ModifySet")


class _Template(NamedTuple):
    """A ConstraintTemplate."""

    source: PolicySource
    has_policy: bool
    """Whether Gatekeeper creates a ValidatingAdmissionPolicy from the template."""
    is_for_create: bool
    """Whether Gatekeeper evaluates the template when objects are created."""
    parameters: Any
    """The OpenAPI schema of the parameters."""
    why_unknown: str
    """The reason why gpuc cannot evaluate the template; empty if gpuc can evaluate it."""


class _Constraint(NamedTuple):
    """A constraint with its ConstraintTemplate."""

    manifest: Manifest
    template: _Template
    webhook_actions: frozenset[str]
    policy_actions: frozenset[str]
    parameters: Any
    path: Path

    @property
    def match(self) -> Any:
        return dig(self.manifest.body, "spec", "match")


class Gatekeeper:
    """Predicts the decisions of Gatekeeper about requests, from the constraints and mutators in an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._scope = GatekeeperScope(objects)
        self._expansions = Expansions(objects)

    def mutations(self, review: Review) -> Iterator[Decision]:
        """Yields a decision "unknown" for each mutator that changes the object: gpuc does not evaluate mutators."""
        if not self._scope.mutates:
            return
        for kind in _MUTATORS:
            for manifest in self._objects.of(_MUTATIONS, kind):
                spec = manifest.body.get("spec")
                applies = kind == "AssignMetadata" or _applies_to(dig(spec, "applyTo"), review)
                if applies and in_match(dig(spec, "match"), review) is not False:
                    message = f"{manifest} of Gatekeeper can change {review}; gpuc does not evaluate mutators"
                    yield Decision("unknown", f"mutator {manifest.name}", message, manifest, ("spec",))

    def decide(self, review: Review) -> Iterator[Decision]:
        """Yields the decision of each constraint that applies to the object, or to a pod that Gatekeeper expands."""
        received = self._scope.receives(review) if self._constraints and self._scope.has_webhook else False
        for constraint in self._constraints:
            yield from self._decisions(constraint, review, received)
        if received is False or not self._scope.expands:
            return
        for expanded in self._expansions.expand(review):
            if isinstance(expanded, Manifest):
                message = f"{review} has no {dig(expanded.body, 'spec', 'templateSource')}, which {expanded} needs"
                yield Decision("unknown", f"expansion {expanded.name}", message, expanded, ("spec", "templateSource"))
                continue
            yield from self.mutations(expanded.review)
            for constraint in self._constraints:
                yield from self._expanded_decisions(constraint, expanded, received)

    def _decisions(self, constraint: _Constraint, review: Review, received: bool | None) -> Iterator[Decision]:
        """Yields the decision of a constraint about the object itself.

        Args:
            received: whether the webhook receives the request; None if this is unknown.
        """
        by_webhook: bool | None = False
        by_policy: bool | None = False
        match = constraint.match
        if (matched := in_policy_match(match, review)) is False:
            return
        if constraint.webhook_actions and is_for_webhook(match, review):
            by_webhook = _both(received, matched)
        if constraint.policy_actions:
            in_scope = received if self._scope.limits_policies else True
            by_policy = _both(in_scope, matched)
        actions: frozenset[str] = frozenset()
        if by_webhook is not False:
            actions |= constraint.webhook_actions
        if by_policy is not False:
            actions |= constraint.policy_actions
        if actions & {"deny", "warn"}:
            yield from _decision(constraint, review, actions, "", is_matched=True in (by_webhook, by_policy))

    def _expanded_decisions(
        self, constraint: _Constraint, expanded: Expanded, received: bool | None
    ) -> Iterator[Decision]:
        """Yields the decision of a constraint about an expanded object.

        Only the webhook of Gatekeeper evaluates expanded objects. No ValidatingAdmissionPolicy receives them.
        """
        if not constraint.webhook_actions:
            return
        actions = frozenset((expanded.action,)) if expanded.action else constraint.webhook_actions
        matched = _both(received, in_match(constraint.match, expanded.review))
        if actions & {"deny", "warn"} and matched is not False:
            yield from _decision(constraint, expanded.review, actions, expanded.prefix, is_matched=matched is True)

    @cached_property
    def _constraints(self) -> list[_Constraint]:
        """Returns the constraints whose ConstraintTemplate exists. The API server refuses all other constraints."""
        templates = {
            str(dig(manifest.body, "spec", "crd", "spec", "names", "kind")): self._template(manifest)
            for manifest in self._objects.of("templates.gatekeeper.sh", "ConstraintTemplate")
        }
        return [
            self._constraint(manifest, templates[manifest.kind])
            for manifest in self._objects.manifests
            if group(manifest) == CONSTRAINTS and manifest.kind in templates and templates[manifest.kind].is_for_create
        ]

    def _template(self, manifest: Manifest) -> _Template:
        target = dig(manifest.body, "spec", "targets", 0)
        sources = {str(dig(row, "engine")): dig(row, "source") for _, row in items(dig(target, "code"))}
        engines = [*sources, *(["Rego"] if dig(target, "rego") else [])]
        source, why = sources.get(_ENGINE), ""
        operations = strings(dig(target, "operations"))
        if source is None:
            why = f"gpuc does not evaluate {' and '.join(engines) or 'a ConstraintTemplate without code'}"
        elif not self._scope.evaluates_cel:
            why = "enableK8sNativeValidation of Gatekeeper is false, so Gatekeeper does not evaluate CEL"
        return _Template(
            policy_source(source, "matchCondition", GATEKEEPER_ROOTS),
            not why and self._scope.makes_policies(source),
            not operations or bool({"*", "CREATE"} & set(operations)),
            dig(manifest.body, "spec", "crd", "spec", "validation", "openAPIV3Schema"),
            why,
        )

    def _constraint(self, manifest: Manifest, template: _Template) -> _Constraint:
        spec = manifest.body.get("spec")
        parameters = with_schema_defaults(dig(spec, "parameters"), template.parameters)
        by_policy = _actions(spec, _POLICY_POINTS, self._scope.makes_bindings) if template.has_policy else frozenset()
        path: Path = PARAMETERS if dig(spec, "parameters") is not None else ("spec",)
        return _Constraint(manifest, template, _actions(spec, _WEBHOOK_POINTS, True), by_policy, parameters, path)


def _both(left: bool | None, right: bool | None) -> bool | None:
    """Returns whether both values are true; None if the values that are known do not decide this."""
    return False if False in (left, right) else (None if None in (left, right) else True)


def _actions(spec: Any, points: frozenset[str], has_default: bool) -> frozenset[str]:
    """Returns the enforcement actions of a constraint at an enforcement point.

    Args:
        points: the names of the enforcement point in scopedEnforcementActions.
        has_default: whether the field enforcementAction counts for the enforcement point.
    """
    action = dig(spec, "enforcementAction") or "deny"
    if action != "scoped":
        return frozenset((str(action),)) if has_default else frozenset()
    return frozenset(
        str(dig(row, "action"))
        for _, row in items(dig(spec, "scopedEnforcementActions"))
        if any(dig(point, "name") in points for _, point in items(dig(row, "enforcementPoints")))
    )


def _decision(
    constraint: _Constraint, review: Review, actions: frozenset[str], prefix: str, *, is_matched: bool
) -> Iterator[Decision]:
    """Yields the decision of a constraint; nothing if the match conditions of its template exclude the object.

    Args:
        actions: the enforcement actions of the constraint.
        prefix: the start of the message.
        is_matched: whether the constraint certainly applies to the object.
    """
    verdict = _verdict(constraint, review)
    if verdict is None:
        return
    outcome: Literal["allowed", "warned", "denied", "unknown"] = verdict.outcome
    message = f"{prefix}{verdict.message}" if verdict.message else ""
    if outcome == "denied" and "deny" not in actions:
        outcome = "warned"
    if outcome == "unknown":
        message = f"{prefix}{constraint.manifest} is not evaluated: {verdict.message}"
    elif not is_matched:
        if outcome == "allowed":
            return
        outcome = "unknown"
        reason = "gpuc does not evaluate the match conditions of Gatekeeper's webhook"
        if not review.scope.is_known:
            reason = f"the labels of namespace {review.namespace} are unknown"
        message = f"{prefix}{constraint.manifest} is not evaluated: {reason}"
    check = f"constraint {constraint.manifest.name}"
    yield Decision(outcome, check, message, constraint.manifest, constraint.path)


def _verdict(constraint: _Constraint, review: Review) -> Verdict | None:
    template = constraint.template
    if template.why_unknown:
        return Verdict("unknown", template.why_unknown)
    key = (template.source.text, repr(constraint.parameters))
    if key not in review.cache:
        preset = {"anyObject": review.document, "params": constraint.parameters}
        review.cache[key] = Evaluation(template.source, review.values, preset, review.cache).verdict()
    verdict: Verdict | None = review.cache[key]
    return verdict


def _applies_to(rows: Any, review: Review) -> bool:
    """Returns whether the field applyTo of a mutator includes the kind of an object. It has no wildcards."""
    return any(
        review.group in strings(dig(row, "groups"))
        and review.version in strings(dig(row, "versions"))
        and review.kind in strings(dig(row, "kinds"))
        and (not dig(row, "operations") or {"*", "CREATE"} & set(strings(dig(row, "operations"))))
        for _, row in items(rows)
    )
