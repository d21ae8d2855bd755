"""Evaluates all admission policies of a cluster about a request, and finds policies of Kyverno, which it does not."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from gpuc.admission.admission_rules import in_rules
from gpuc.admission.gatekeeper import Gatekeeper
from gpuc.admission.policies_native import NativePolicies
from gpuc.admission.policy_review import Review, Reviews, strings
from gpuc.admission.request import Decision, Request
from gpuc.objects.object_set import ObjectSet, dig, group, items, pairs
from gpuc.parts.workload_kinds import workload_kinds


class Policies:
    """The admission policies of an object set: of the API server, of Gatekeeper and of Kyverno."""

    def __init__(self, objects: ObjectSet) -> None:
        self._reviews = Reviews(objects)
        self._native = NativePolicies(objects)
        self._gatekeeper = Gatekeeper(objects)
        self._other = OtherPolicies(objects)

    def decide(self, request: Request) -> Iterator[Decision]:
        """Yields one decision for each policy that applies to a request, in the order of the API server.

        The API server first changes the object, then evaluates its own policies, and then calls webhooks. A workload
        can have several decisions of a constraint: one about the workload, and one about the pods that Gatekeeper
        expands from the workload.
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
    """The policies of engines that gpuc does not evaluate."""

    def __init__(self, objects: ObjectSet) -> None:
        self._policies = [manifest for manifest in objects.manifests if group(manifest) in (_RULES, _EXPRESSIONS)]

    def decide(self, review: Review) -> Iterator[Decision]:
        """Yields an unknown decision for each policy that can change or refuse an object."""
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
    """Returns whether Kind, version/Kind or group/version/Kind selects a kind; a selector without a group has no limit.

    Source: kyverno/kyverno commit 0462d85 pkg/utils/kube/kind.go (GetKindFromGVK)
    """
    *prefix, name = selector.split("/")
    return name in ("*", kind) and (len(prefix) < 2 or fnmatchcase(api_group, prefix[0]))
