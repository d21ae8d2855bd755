"""Decides whether the field `match` of a Gatekeeper constraint or mutator includes an object.

Source: gatekeeper v3.23.0 pkg/mutation/match/match.go, pkg/wildcard/wildcard.go,
pkg/drivers/k8scel/transform/cel_snippets.go and make_vap_objects.go (ConstraintToBinding)
"""

from collections.abc import Iterable
from typing import Any

from gpuc.admission.policy_review import Review, strings
from gpuc.objects.object_set import ObjectSet, dig, items


def in_match(match: Any, review: Review) -> bool | None:
    """Returns whether `match` includes an object; None if this depends on unknown labels of the namespace.

    Args:
        match: the field spec.match, unvalidated; None includes all objects.
    """
    return is_for_webhook(match, review) and in_policy_match(match, review)


def is_for_webhook(match: Any, review: Review) -> bool:
    """Returns whether the fields `scope` and `source` of `match` include an object."""
    return _has_scope(dig(match, "scope"), review) and dig(match, "source") in (None, "", "All", review.source)


def in_policy_match(match: Any, review: Review) -> bool | None:
    """Returns whether `match` includes an object in the policy that Gatekeeper creates for the API server.

    This ValidatingAdmissionPolicy ignores the fields `scope` and `source`. The result is None if it depends on unknown
    labels of the namespace.
    """
    if not (
        has_kind(dig(match, "kinds"), review.group, review.kind)
        and _has_name(dig(match, "name"), review)
        and _has_own_namespace(match, review)
        and review.has_labels(dig(match, "labelSelector"))
    ):
        return False
    namespaces = dig(match, "namespaceSelector")
    if namespaces is None or not (review.namespace or review.is_namespace):
        return True
    return review.scope.selected(namespaces)


def has_kind(rows: Any, api_group: str, kind: str) -> bool:
    """Returns whether a list of maps with `apiGroups` and `kinds` includes a kind. An empty list includes all kinds."""
    entries = [row for _, row in items(rows)]
    return not entries or any(
        _contains(strings(dig(row, "kinds")), kind) and _contains(strings(dig(row, "apiGroups")), api_group)
        for row in entries
    )


def in_wildcards(patterns: Iterable[str], name: str) -> bool:
    """Returns whether a name matches a pattern. A pattern can have a star at its start or end: "kube-*"."""
    return any(_in_wildcard(pattern, name) for pattern in patterns)


def _in_wildcard(pattern: str, name: str) -> bool:
    if pattern.startswith("*") and pattern.endswith("*"):
        return pattern.removeprefix("*").removesuffix("*") in name
    if pattern.startswith("*"):
        return name.endswith(pattern[1:])
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else pattern == name


def _contains(values: list[str], value: str) -> bool:
    return not values or "*" in values or value in values


def _has_name(pattern: Any, review: Review) -> bool:
    """Returns whether the name matches. A prefix pattern can match the field generateName, too."""
    if not isinstance(pattern, str) or not pattern or _in_wildcard(pattern, review.name):
        return True
    prefix = dig(review.document, "metadata", "generateName")
    return isinstance(prefix, str) and bool(prefix) and pattern.endswith("*") and _in_wildcard(pattern, prefix)


def _has_scope(scope: Any, review: Review) -> bool:
    if scope == "Cluster":
        return review.is_namespace or not review.namespace
    return scope != "Namespaced" or (bool(review.namespace) and not review.is_namespace)


def has_namespace(match: Any, namespace: str) -> bool:
    """Returns whether the fields `namespaces` and `excludedNamespaces` of `match` include a namespace."""
    included, excluded = strings(dig(match, "namespaces")), strings(dig(match, "excludedNamespaces"))
    return (not included or in_wildcards(included, namespace)) and not in_wildcards(excluded, namespace)


def excluded_namespaces(objects: ObjectSet) -> tuple[str, ...]:
    """Returns the patterns of namespaces whose requests the webhook of Gatekeeper ignores, from the object Config.

    Source: gatekeeper v3.23.0 apis/config/v1alpha1 (MatchEntry)
    """
    return tuple(
        pattern
        for config in objects.of("config.gatekeeper.sh", "Config")
        for _, match in items(dig(config.body, "spec", "match"))
        if {"*", "webhook"} & set(strings(dig(match, "processes")))
        for pattern in strings(dig(match, "excludedNamespaces"))
    )


def _has_own_namespace(match: Any, review: Review) -> bool:
    """Returns whether the namespace matches. For a Namespace object, its own name counts."""
    namespace = review.name if review.is_namespace else review.namespace
    return not namespace or has_namespace(match, namespace)
