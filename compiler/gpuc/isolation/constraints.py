"""Gatekeeper constraints that deny objects in a namespace, and the Pod Security level that a namespace enforces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from gpuc.admission.pod_security import levels
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.kubernetes.selector import Selector, matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items
from gpuc.objects.selectors import selector

ROLLOUT_ACTIONS = ("deny", "warn", "dryrun")
"""The enforcement actions of a constraint that denies objects, or that is in rollout and will deny objects later."""

HOST_NETWORK = ("hostNetwork",)
"""Words in the code of a ConstraintTemplate that restricts the host network of pods."""
SECONDARY_NETWORKS = ("k8s.v1.cni.cncf.io/networks",)
"""Words in the code of a ConstraintTemplate that restricts the annotation for secondary networks."""
NETWORK_POLICY = ("ingress", "egress", "namespaceSelector")
"""Words in the code of a ConstraintTemplate that restricts the peers of NetworkPolicies."""


class Constraints:
    """The Gatekeeper constraints of an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._templates: dict[str, str] = {}

    @cached_property
    def all(self) -> list[tuple[Manifest, Selector]]:
        """All constraints with their namespace selectors."""
        return [
            (constraint, selector(dig(constraint.body, "spec", "match", "namespaceSelector") or {}))
            for constraint in self._objects.manifests
            if group(constraint) == CONSTRAINTS
        ]

    def find(
        self,
        words: tuple[str, ...],
        api_group: str,
        kind: str,
        namespace: str,
        labels: Mapping[str, str],
        actions: tuple[str, ...] = ("deny",),
    ) -> Manifest | None:
        """Returns a constraint that applies to all objects of a kind in a namespace; None if no constraint does.

        Args:
            words: words that the ConstraintTemplate has to contain, such as HOST_NETWORK.
            labels: the labels of the namespace.
            actions: the enforcement actions that the constraint may have.
        """
        if namespace in self._exempt_namespaces:
            return None
        for constraint, namespaces in self.all:
            spec = constraint.body.get("spec")
            action = dig(spec, "enforcementAction") or "deny"
            if not self._template_contains(constraint, words) or action not in actions:
                continue
            match = dig(spec, "match")
            if _matches_kind(match, api_group, kind) and _matches_namespace(match, namespace, namespaces, labels):
                return constraint
        return None

    def _template_contains(self, constraint: Manifest, words: tuple[str, ...]) -> bool:
        if constraint.kind not in self._templates:
            template = self._objects.find("templates.gatekeeper.sh", "ConstraintTemplate", constraint.kind.lower())
            self._templates[constraint.kind] = str(dig(template.body, "spec", "targets")) if template else ""
        return all(word in self._templates[constraint.kind] for word in words)

    @cached_property
    def _exempt_namespaces(self) -> frozenset[str]:
        """The namespaces that the Config of Gatekeeper excludes from its webhook.

        Source: gatekeeper v3.23 apis/config/v1alpha1, MatchEntry
        """
        patterns = [
            pattern
            for config in self._objects.of("config.gatekeeper.sh", "Config")
            for _, match in items(dig(config.body, "spec", "match"))
            if {"*", "webhook"} & {process for _, process in items(dig(match, "processes")) if isinstance(process, str)}
            for _, pattern in items(dig(match, "excludedNamespaces"))
        ]
        return frozenset(
            name for name in self._objects.namespaces if any(_matches_pattern(name, pattern) for pattern in patterns)
        )


def pod_security(labels: Mapping[str, str]) -> str:
    """Returns the Pod Security level that a namespace enforces."""
    return levels(labels).enforce.name


def _matches_kind(match: Any, api_group: str, kind: str) -> bool:
    """Returns whether the match of a constraint includes a kind; a match without kinds includes all kinds."""
    rows = [row for _, row in items(dig(match, "kinds"))]
    return not rows or any(
        {"*", api_group} & set(_strings(dig(row, "apiGroups"))) and {"*", kind} & set(_strings(dig(row, "kinds")))
        for row in rows
    )


def _matches_namespace(match: Any, namespace: str, namespaces: Selector, labels: Mapping[str, str]) -> bool:
    """Returns whether the match of a constraint includes all objects in a namespace.

    A constraint for certain labels or names does not count, because creators of objects choose labels and names.
    """
    if dig(match, "labelSelector") or dig(match, "name") or dig(match, "scope") == "Cluster":
        return False
    if dig(match, "source") == "Generated":
        return False
    included = list(_strings(dig(match, "namespaces")))
    if included and not any(_matches_pattern(namespace, pattern) for pattern in included):
        return False
    if any(_matches_pattern(namespace, pattern) for pattern in _strings(dig(match, "excludedNamespaces"))):
        return False
    return matches(namespaces, labels)


def _strings(value: Any) -> Iterator[str]:
    return (text for _, text in items(value) if isinstance(text, str))


def _matches_pattern(name: str, pattern: Any) -> bool:
    """Returns whether a name matches a pattern of Gatekeeper. The only wildcard is a star at the start or the end.

    Source: gatekeeper v3.23 pkg/wildcard/wildcard.go
    """
    return isinstance(pattern, str) and fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
