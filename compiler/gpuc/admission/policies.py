"""Evaluates the admission policies of a cluster for a request: of the API server and of Gatekeeper.

gpuc also finds the policies of Kyverno, but does not evaluate them.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/policy/validating/dispatcher.go,
pkg/admission/plugin/policy/generic/policy_dispatcher.go (CollectParams)
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from gpuc.admission.admission_rules import in_rules
from gpuc.admission.gatekeeper import Gatekeeper
from gpuc.admission.policy_expressions import (
    GATEKEEPER_ROOTS,
    NATIVE_ROOTS,
    Evaluation,
    PolicySource,
    Verdict,
    policy_source,
)
from gpuc.admission.policy_review import Review, Reviews, strings
from gpuc.admission.request import Decision, Request
from gpuc.cel.program import Value
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import ADMISSION_REGISTRATION
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, grouped, items, pairs
from gpuc.objects.selectors import selector
from gpuc.parts.workload_kinds import workload_kinds

_SPEC: Path = ("spec",)


class _Policy(NamedTuple):
    """A policy of the API server with its bindings."""

    manifest: Manifest
    source: PolicySource
    bindings: tuple[Manifest, ...]

    @property
    def spec(self) -> Any:
        return self.manifest.body.get("spec")


class NativePolicies:
    """The policies that the API server evaluates itself, for example ValidatingAdmissionPolicies, in an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects

    def mutations(self, review: Review) -> Iterator[Decision]:
        """Yields a decision "unknown" for each MutatingAdmissionPolicy that may change the object."""
        for policy in self._of("MutatingAdmissionPolicy"):
            if in_rules(dig(policy.spec, "matchConstraints"), review) is False:
                continue
            bound = any(_is_bound(binding, review) is not False for binding in policy.bindings)
            applies = Evaluation(policy.source, review.values, {}, review.cache).applies() if bound else Value(False)
            if applies != Value(False):
                message = f"{policy.manifest} can change {review}; gpuc does not evaluate mutations"
                yield Decision("unknown", f"policy {policy.manifest.name}", message, policy.manifest, _SPEC)

    def decide(self, review: Review) -> Iterator[Decision]:
        """Yields a decision for each ValidatingAdmissionPolicyBinding that applies to an object."""
        for policy in self._of("ValidatingAdmissionPolicy"):
            included = in_rules(dig(policy.spec, "matchConstraints"), review)
            for binding in policy.bindings if included is not False else ():
                bound = _is_bound(binding, review)
                actions = set(strings(dig(binding.body, "spec", "validationActions")))
                if bound is not False and actions & {"Deny", "Warn"}:
                    yield from self._decisions(policy, binding, review, is_matched=included is bound is True)

    def _of(self, kind: str) -> list[_Policy]:
        return [policy for policy in self._policies if policy.manifest.kind == kind]

    @cached_property
    def _policies(self) -> list[_Policy]:
        policies = []
        for kind in ("ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"):
            found = self._objects.of(ADMISSION_REGISTRATION, f"{kind}Binding")
            bindings = grouped(found, lambda binding: str(dig(binding.body, "spec", "policyName")))
            for manifest in self._objects.of(ADMISSION_REGISTRATION, kind):
                spec = manifest.body.get("spec")
                roots = GATEKEEPER_ROOTS if dig(spec, "paramKind") is None else NATIVE_ROOTS
                source = policy_source(spec, "matchConditions", roots)
                policies.append(_Policy(manifest, source, tuple(bindings.get(manifest.name, ()))))
        return policies

    def _decisions(self, policy: _Policy, binding: Manifest, review: Review, *, is_matched: bool) -> Iterator[Decision]:
        """Yields the decision of a policy with a binding.

        Args:
            is_matched: whether the policy certainly applies to the object.
        """
        verdict = self._verdict(policy, binding, review)
        actions = strings(dig(binding.body, "spec", "validationActions"))
        if verdict is None or (verdict.outcome == "allowed" and not is_matched):
            return
        check = f"{policy.manifest.kind} {policy.manifest.name}"
        if verdict.outcome == "unknown" or not is_matched:
            why = verdict.message if verdict.outcome == "unknown" else "its match constraints are not evaluated"
            message = f"{policy.manifest} with {binding} is not evaluated: {why}"
            yield Decision("unknown", check, message, policy.manifest, _SPEC)
        elif verdict.outcome == "denied":
            outcome: Literal["denied", "warned"] = "denied" if "Deny" in actions else "warned"
            yield Decision(outcome, check, verdict.message, policy.manifest, ("spec", "validations"))
        else:
            yield Decision("allowed", check, "", policy.manifest, _SPEC)

    def _verdict(self, policy: _Policy, binding: Manifest, review: Review) -> Verdict | None:
        """Returns the decision of a policy with all parameters of a binding; None if the policy does not apply."""
        parameters = self._parameters(policy, binding, review)
        if isinstance(parameters, Verdict):
            return None if parameters.outcome == "denied" and policy.source.ignores_failures else parameters
        verdicts = [
            Evaluation(policy.source, {**review.values, "params": value}, {}, review.cache).verdict()
            for value in parameters
        ]
        known = [verdict for verdict in verdicts if verdict is not None]
        for outcome in ("denied", "unknown", "allowed"):
            if (verdict := next((found for found in known if found.outcome == outcome), None)) is not None:
                return verdict
        return None

    def _parameters(self, policy: _Policy, binding: Manifest, review: Review) -> list[Any] | Verdict:
        """Returns the parameter objects of a binding, or the decision if they cannot be found."""
        kind, reference = dig(policy.spec, "paramKind"), dig(binding.body, "spec", "paramRef")
        if kind is None or reference is None:
            return [None]
        api_group = str(dig(kind, "apiVersion")).rpartition("/")[0]
        found = [
            manifest
            for manifest in self._objects.of(api_group, str(dig(kind, "kind")))
            if manifest.namespace in ("", str(dig(reference, "namespace") or review.namespace))
        ]
        if (name := dig(reference, "name")) is not None:
            found = [manifest for manifest in found if manifest.name == name]
        else:
            wanted = selector(dig(reference, "selector"))
            found = [manifest for manifest in found if matches(wanted, manifest.labels)]
        if found:
            return [manifest.document() for manifest in found]
        if not self._objects.is_complete:
            return Verdict("unknown", f"the input has no {dig(kind, 'kind')} with the parameters")
        if dig(reference, "parameterNotFoundAction") == "Deny":
            message = "failed to configure binding: no params found for policy binding with `Deny` "
            return Verdict("denied", f"{message}parameterNotFoundAction")
        return []


def _is_bound(binding: Manifest, review: Review) -> bool | None:
    resources = dig(binding.body, "spec", "matchResources")
    return True if resources is None else in_rules(resources, review)


class Policies:
    """All admission policies in an object set: of the API server, of Gatekeeper and of Kyverno."""

    def __init__(self, objects: ObjectSet) -> None:
        self._reviews = Reviews(objects)
        self._native = NativePolicies(objects)
        self._gatekeeper = Gatekeeper(objects)
        self._other = OtherPolicies(objects)

    def decide(self, request: Request) -> Iterator[Decision]:
        """Yields the decisions of all policies that apply to a request, in the order of the API server.

        The API server first changes the object, then evaluates its own policies, and then calls webhooks. A Gatekeeper
        constraint can have two decisions about a workload: about the workload itself, and about the pods that it will
        create.
        """
        review = self._reviews.of(request)
        yield from self._native.mutations(review)
        yield from self._gatekeeper.mutations(review)
        yield from self._native.decide(review)
        yield from self._gatekeeper.decide(review)
        yield from self._other.decide(review)


_RULES = "kyverno.io"
_EXPRESSIONS = "policies.kyverno.io"
_WITHOUT_EFFECT = frozenset(("CleanupPolicy", "ClusterCleanupPolicy", "PolicyException", "DeletingPolicy"))


@cache
def _pod_controllers() -> frozenset[tuple[str, str]]:
    """Returns the kinds for which Kyverno generates rules from the rules for pods.

    Source: https://kyverno.io/docs/policy-types/cluster-policy/autogen/
    """
    return frozenset((kind.group, kind.kind) for kind in workload_kinds() if kind.is_builtin and kind.controller)


class OtherPolicies:
    """The policies of Kyverno, which gpuc does not evaluate."""

    def __init__(self, objects: ObjectSet) -> None:
        self._policies = [manifest for manifest in objects.manifests if group(manifest) in (_RULES, _EXPRESSIONS)]

    def decide(self, review: Review) -> Iterator[Decision]:
        """Yields a decision "unknown" for each policy that can change or refuse an object."""
        for manifest in self._policies:
            if manifest.kind in _WITHOUT_EFFECT or manifest.namespace not in ("", review.namespace):
                continue
            spec = manifest.body.get("spec")
            if group(manifest) == _RULES:
                applies = any(_has_rule(rule, spec, review) for _, rule in items(dig(spec, "rules")))
            else:
                applies = _has_expressions(spec, review)
            if applies:
                message = f"{manifest} of Kyverno applies to {review}; gpuc does not evaluate policies of Kyverno"
                yield Decision("unknown", f"Kyverno {manifest.kind} {manifest.name}", message, manifest, ("spec",))


def _has_expressions(spec: Any, review: Review) -> bool:
    """Returns whether a policy with CEL expressions applies to an object. Kyverno adds rules for pod controllers."""
    constraints = dig(spec, "matchConstraints")
    if strings(dig(spec, "validationActions")) == ["Audit"]:
        return False
    if in_rules(constraints, review) is not False:
        return True
    resources = [
        name for _, rule in items(dig(constraints, "resourceRules")) for name in strings(dig(rule, "resources"))
    ]
    return (review.group, review.kind) in _pod_controllers() and "pods" in resources


def _has_rule(rule: Any, spec: Any, review: Review) -> bool:
    """Returns whether a rule can change or refuse an object of this kind.

    A rule that validates objects refuses them only with the action Enforce.
    """
    if not {"validate", "mutate", "verifyImages"} & {key for key, _ in pairs(rule)}:
        return False
    action = dig(rule, "validate", "failureAction") or dig(spec, "validationFailureAction") or "Audit"
    if dig(rule, "validate") is not None and str(action).lower() == "audit":
        return False
    match = dig(rule, "match")
    blocks = [dig(row, "resources") for key in ("any", "all") for _, row in items(dig(match, key))]
    selectors = {kind for block in (*blocks, dig(match, "resources")) for kind in strings(dig(block, "kinds"))}
    kinds = [(review.group, review.kind)]
    if (review.group, review.kind) in _pod_controllers():
        kinds.append(("", "Pod"))
    return not selectors or any(_selects(selector, *kind) for selector in selectors for kind in kinds)


def _selects(selector: str, api_group: str, kind: str) -> bool:
    """Returns whether a selector selects a kind. The forms are Kind, version/Kind and group/version/Kind.

    A selector without a group selects the kind in every group.

    Source: kyverno/kyverno commit 0462d85 pkg/utils/kube/kind.go (GetKindFromGVK)
    """
    *prefix, name = selector.split("/")
    return name in ("*", kind) and (len(prefix) < 2 or fnmatchcase(api_group, prefix[0]))
