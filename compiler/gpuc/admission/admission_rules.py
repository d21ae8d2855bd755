"""Decides whether a webhook or an admission policy receives a request, from its resource rules and selectors.

Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/policy/matching/matching.go,
pkg/admission/plugin/webhook/predicates/rules/rules.go, namespace/matcher.go and object/matcher.go
"""

from typing import Any

from gpuc.admission.policy_review import Review, strings
from gpuc.catalog import schemas
from gpuc.kubernetes.api_groups import ADMISSION_REGISTRATION
from gpuc.objects.object_set import dig, items

_EXEMPT = frozenset((
    "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
))  # fmt: skip
"""Kinds that the API server sends to no webhook and no policy."""


def in_rules(resources: Any, review: Review) -> bool | None:
    """Returns whether a webhook or a policy with these match resources gets the request; None if gpuc cannot decide.

    Args:
        resources: a map with namespaceSelector, objectSelector, resourceRules, excludeResourceRules and matchPolicy,
            unvalidated.
    """
    is_exempt = review.group == ADMISSION_REGISTRATION and review.kind in _EXEMPT
    if is_exempt or not review.has_labels(dig(resources, "objectSelector")):
        return False
    namespaces = dig(resources, "namespaceSelector")
    has_namespace = bool(review.namespace) or review.is_namespace
    selected = True if namespaces is None or not has_namespace else review.scope.selected(namespaces)
    rules = dig(resources, "resourceRules")
    exact = dig(resources, "matchPolicy") == "Exact"
    included = _included(rules, review, exact) if rules else True
    excluded = _included(dig(resources, "excludeResourceRules"), review, exact)
    if False in (selected, included) or excluded is True:
        return False
    return None if None in (selected, included, excluded) else True


def _included(rules: Any, review: Review, exact: bool) -> bool | None:
    """Returns whether a rule includes the request.

    A rule can include the resource only in another version that exists. The API server then converts the object to this
    version, unless the rules need the exact version. In this case the result is None.
    """
    result: bool | None = False
    for _, rule in items(rules):
        if not _in_rule(rule, review):
            continue
        versions = strings(dig(rule, "apiVersions"))
        if "*" in versions or review.version in versions:
            return True
        if not exact and any(_is_served(review, version) for version in versions):
            result = None
    return result


def _in_rule(rule: Any, review: Review) -> bool:
    """Returns whether a rule includes the request in any version."""
    operations, groups = strings(dig(rule, "operations")), strings(dig(rule, "apiGroups"))
    names = strings(dig(rule, "resourceNames"))
    return (
        bool({"*", "CREATE"} & set(operations))
        and bool({"*", review.group} & set(groups))
        and bool({"*", "*/*", review.resource, f"{review.resource}/*"} & set(strings(dig(rule, "resources"))))
        and (not names or review.name in names)
        and _in_scope(dig(rule, "scope"), review)
    )


def _in_scope(scope: Any, review: Review) -> bool:
    if scope == "Namespaced":
        return bool(review.namespace)
    return scope != "Cluster" or not review.namespace


def _is_served(review: Review, version: str) -> bool:
    """Returns whether the API server serves the kind in another version."""
    api = f"{review.group}/{version}" if review.group else version
    return any(schemas.table(api, review.kind, kubernetes) for kubernetes in schemas.builtin_versions())
