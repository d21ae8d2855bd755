"""Which Gatekeeper constraints deny objects in a namespace, and which Pod Security level the namespace enforces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from gpuc.kubernetes.selector import Selector, matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items
from gpuc.objects.selectors import selector

_CONSTRAINTS = "constraints.gatekeeper.sh"
_ENFORCE = "pod-security.kubernetes.io/enforce"

ROLLOUT_ACTIONS = ("deny", "warn", "dryrun")
"""The enforcement actions of a policy during its rollout."""

HOST_NETWORK = ("hostNetwork",)
SECONDARY_NETWORKS = ("k8s.v1.cni.cncf.io/networks",)
NETWORK_POLICY = ("ingress", "egress", "namespaceSelector")
"""Words that the code of a ConstraintTemplate contains if the template restricts the subject."""


class Constraints:
    """The Gatekeeper constraints of an object set."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._templates: dict[str, str] = {}

    @cached_property
    def all(self) -> list[tuple[Manifest, Selector]]:
        """All constraints with their namespace selectors."""
        found = [manifest for manifest in self._objects.manifests if group(manifest) == _CONSTRAINTS]
        return [
            (constraint, selector(dig(constraint.body, "spec", "match", "namespaceSelector") or {}))
            for constraint in found
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
        """A constraint that applies to a kind in a namespace; None if there is none.

        Args:
            words: words that the template of the constraint has to contain.
            labels: the labels of the namespace.
            actions: the enforcement actions that count.
        """
        if namespace in self._exempt:
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
    def _exempt(self) -> frozenset[str]:
        """The namespaces that Gatekeeper's webhook ignores.

        Source: gatekeeper v3.23 apis/config/v1alpha1, MatchEntry
        """
        patterns = [
            pattern
            for config in self._objects.of("config.gatekeeper.sh", "Config")
            for _, entry in items(dig(config.body, "spec", "match"))
            if {"*", "webhook"} & {process for _, process in items(dig(entry, "processes")) if isinstance(process, str)}
            for _, pattern in items(dig(entry, "excludedNamespaces"))
        ]
        return frozenset(
            name for name in self._objects.namespaces if any(_matches_pattern(name, pattern) for pattern in patterns)
        )


def pod_security(labels: Mapping[str, str]) -> str:
    """The Pod Security level that a namespace enforces; privileged if it enforces none.

    Source: k8s.io/pod-security-admission v0.35 api/helpers.go
    """
    level = labels.get(_ENFORCE, "privileged")
    return level if level in ("baseline", "restricted") else "privileged"


def _matches_kind(match: Any, api_group: str, kind: str) -> bool:
    entries = [entry for _, entry in items(dig(match, "kinds"))]
    return not entries or any(
        {"*", api_group} & set(_texts(dig(entry, "apiGroups"))) and {"*", kind} & set(_texts(dig(entry, "kinds")))
        for entry in entries
    )


def _matches_namespace(match: Any, namespace: str, namespaces: Selector, labels: Mapping[str, str]) -> bool:
    """Whether a constraint applies to all objects of the kind in the namespace.

    A constraint for certain labels or names does not count, because the owner of an object chooses these.
    """
    if dig(match, "labelSelector") or dig(match, "name") or dig(match, "scope") == "Cluster":
        return False
    if dig(match, "source") == "Generated":
        return False
    included = list(_texts(dig(match, "namespaces")))
    if included and not any(_matches_pattern(namespace, pattern) for pattern in included):
        return False
    if any(_matches_pattern(namespace, pattern) for pattern in _texts(dig(match, "excludedNamespaces"))):
        return False
    return matches(namespaces, labels)


def _texts(value: Any) -> Iterator[str]:
    return (text for _, text in items(value) if isinstance(text, str))


def _matches_pattern(name: str, pattern: Any) -> bool:
    """Whether a name matches a pattern of Gatekeeper, whose only wildcard is a star at the start or the end.

    Source: gatekeeper v3.23 pkg/wildcard/wildcard.go
    """
    return isinstance(pattern, str) and fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
