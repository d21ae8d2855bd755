"""What Gatekeeper's constraints refuse in which namespaces, and what Pod Security enforces."""

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

STAGES = ("deny", "warn", "dryrun")
"""Actions of a policy that is being rolled out."""

HOST_NETWORK = ("hostNetwork",)
SECONDARY_NETWORKS = ("k8s.v1.cni.cncf.io/networks",)
NETWORK_POLICY = ("ingress", "egress", "namespaceSelector")
"""What the code of a template has to speak of to fence something."""


class Fences:
    """The constraints of a tree."""

    def __init__(self, tree: ObjectSet) -> None:
        self._tree = tree
        self._templates: dict[str, str] = {}

    @cached_property
    def constraints(self) -> list[tuple[Manifest, Selector]]:
        """Every constraint, whatever its kind, with its selector of namespaces."""
        found = [each for each in self._tree.manifests if group(each) == _CONSTRAINTS]
        return [(each, selector(dig(each.body, "spec", "match", "namespaceSelector") or {})) for each in found]

    def judging(
        self,
        words: tuple[str, ...],
        api_group: str,
        kind: str,
        namespace: str,
        labels: Mapping[str, str],
        actions: tuple[str, ...] = ("deny",),
    ) -> Manifest | None:
        """A constraint on a kind in a namespace, whose template speaks of all the words, with one of these actions."""
        if namespace in self._exempt:
            return None
        for constraint, namespaces in self.constraints:
            spec = constraint.body.get("spec")
            if not self._speaks_of(constraint, words) or (dig(spec, "enforcementAction") or "deny") not in actions:
                continue
            match = dig(spec, "match")
            if _takes_kind(match, api_group, kind) and _takes_namespace(match, namespace, namespaces, labels):
                return constraint
        return None

    def _speaks_of(self, constraint: Manifest, words: tuple[str, ...]) -> bool:
        if constraint.kind not in self._templates:
            template = self._tree.find("templates.gatekeeper.sh", "ConstraintTemplate", constraint.kind.lower())
            self._templates[constraint.kind] = str(dig(template.body, "spec", "targets")) if template else ""
        return all(word in self._templates[constraint.kind] for word in words)

    @cached_property
    def _exempt(self) -> frozenset[str]:
        """Namespaces in which Gatekeeper's webhook judges nothing.

        Source: gatekeeper v3.23 apis/config/v1alpha1, MatchEntry
        """
        patterns = [
            pattern
            for config in self._tree.of("config.gatekeeper.sh", "Config")
            for _, entry in items(dig(config.body, "spec", "match"))
            if {"*", "webhook"} & {each for _, each in items(dig(entry, "processes")) if isinstance(each, str)}
            for _, pattern in items(dig(entry, "excludedNamespaces"))
        ]
        return frozenset(name for name in self._tree.namespaces if any(_is_like(name, one) for one in patterns))


def pod_security(labels: Mapping[str, str]) -> str:
    """The level of Pod Security that a namespace enforces; privileged where it enforces none.

    Source: k8s.io/pod-security-admission v0.35 api/helpers.go
    """
    level = labels.get(_ENFORCE, "privileged")
    return level if level in ("baseline", "restricted") else "privileged"


def _takes_kind(match: Any, api_group: str, kind: str) -> bool:
    entries = [entry for _, entry in items(dig(match, "kinds"))]
    return not entries or any(
        {"*", api_group} & set(_texts(dig(entry, "apiGroups"))) and {"*", kind} & set(_texts(dig(entry, "kinds")))
        for entry in entries
    )


def _takes_namespace(match: Any, namespace: str, namespaces: Selector, labels: Mapping[str, str]) -> bool:
    """Whether every object of the kind in the namespace is judged; labels and names of the object are its owner's."""
    if dig(match, "labelSelector") or dig(match, "name") or dig(match, "scope") == "Cluster":
        return False
    if dig(match, "source") == "Generated":
        return False
    wanted = list(_texts(dig(match, "namespaces")))
    if wanted and not any(_is_like(namespace, pattern) for pattern in wanted):
        return False
    if any(_is_like(namespace, pattern) for pattern in _texts(dig(match, "excludedNamespaces"))):
        return False
    return matches(namespaces, labels)


def _texts(value: Any) -> Iterator[str]:
    return (each for _, each in items(value) if isinstance(each, str))


def _is_like(name: str, pattern: Any) -> bool:
    """Gatekeeper's patterns know a star at either end and no other sign.

    Source: gatekeeper v3.23 pkg/wildcard/wildcard.go
    """
    return isinstance(pattern, str) and fnmatchcase(name, pattern.replace("[", "[[]").replace("?", "[?]"))
